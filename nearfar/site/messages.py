"""What findings about a node beside its site's files say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_XID = "check lspci, and the kernel log for Xid messages"

GPUS_BELOW_GRES = Message(
    "gpu.below_gres", "INDETERMINATE",
    "Slurm lists {expected:#GPU} on this node (Gres), but {seen} of them answer",
    f"{_XID}; if the GPUs are well, correct Gres", page="slurm.md",
)  # fmt: skip
GPUS_NONE = Message(
    "gpu.none", "INDETERMINATE",
    "partition '{partition}' has the feature gpu, but no GPU answers",
    _XID, page="describe.md",
)  # fmt: skip
AS_EXPECTED = Message("topology.as_expected", "PASS", "matches {file}")
NOT_DESCRIBED = Message(
    "topology.not_described", "INDETERMINATE", "topology not compared: the job wrote no description of its node"
)  # fmt: skip
NOT_COMPARED = Message("topology.not_compared", NOT_JUDGED, "topology not compared: {cause}", page="describe.md")
PARTLY_COMPARED = Message(
    "topology.partly_compared", NOT_JUDGED,
    "only `expect` of {file} is compared: partition '{partition}' has no node_type", "add a node_type to the partition",
    page="describe.md",
)  # fmt: skip
LINKS_NOT_SEEN = Message(
    "topology.links_not_seen", NOT_JUDGED,
    "GPU {gpus}: the link's speed under load is unknown; only its maximum is compared",
)  # fmt: skip
OTHER_GPUS = Message(
    "document.other_gpus", "INDETERMINATE", "the document is from {hostname}, whose GPUs differ from those of {here}: {gpus}"
)  # fmt: skip
