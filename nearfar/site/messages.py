"""What findings about a node beside its site's files say."""

from __future__ import annotations

from nearfar.base import Message

_XID = "check lspci, and the kernel log for Xid messages"

GPUS_BELOW_GRES = Message(
    "gpu.below_gres", "INDETERMINATE",
    "Slurm has {expected:#GPU} on this node (Gres), but {seen} of them answer",
    f"{_XID}; if all is well, correct Gres", page="guide/slurm.md",
)  # fmt: skip
GPUS_NONE = Message(
    "gpu.none", "INDETERMINATE",
    "the site file says partition '{partition}' has GPUs (feature gpu), but none answers",
    _XID, page="guide/describe-your-system.md",
)  # fmt: skip
