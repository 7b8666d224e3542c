"""What findings about kernels with their transfers say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_PAGE = "how-it-measures.md"
_NO_REFERENCE = "its figures enter no reference"

# How the kernels ran.
MISSING = Message("kernels.missing", "INDETERMINATE", "requested but not measured: {kernels}", page=_PAGE)
THROTTLED = Message(
    "kernels.throttled", "DEGRADED",
    f"GPU {{gpu}}: its hardware reduced the clocks while {{kernels}} ran ({{causes}}); {_NO_REFERENCE}",
    "check cooling and power", page=_PAGE,
)  # fmt: skip
UNCORRECTED = Message(
    "kernels.uncorrectable", "FAIL", "GPU {gpu}: {errors:#uncorrected memory error} while {kernels} ran", "reset the GPU, or reboot",
    hard=True, page=_PAGE,
)  # fmt: skip
CORRECTED = Message(
    "kernels.corrected", "DEGRADED", f"GPU {{gpu}}: {{errors:#corrected memory error}} while {{kernels}} ran; {_NO_REFERENCE}",
    page=_PAGE,
)  # fmt: skip
SMALLER_SIZE = Message(
    "kernels.smaller_size",
    NOT_JUDGED,
    "{subject}, {kernels}: {line}; not compared with figures of the usual size",
    page=_PAGE,
)
TENSOR_MODES = Message(
    "kernels.tensor_modes",
    NOT_JUDGED,
    "environment variables set the precision of matrix products: {modes}",
    page=_PAGE,
)

# How GPUs were under load for long.
_GPU = "GPU {gpu}[ ({pci})]"
_HEAT = "[; at most {temperature:.0f} °C][, its memory {memory_temperature:.0f} °C]"
ALL_RIGHT = Message(
    "sustained.all_right",
    "PASS",
    "all {products:,} products of {gpus:#GPU} at full load for {seconds} s were right",
    page=_PAGE,
)
HELD_DOWN = Message(
    "sustained.held_down", "FAIL",
    f"{_GPU}: its hardware reduced the clocks at full load ({{causes}}), first in second {{first}}, in {{seconds:#second}} in all{_HEAT}",
    "check cooling and power", page=_PAGE,
)  # fmt: skip
HELD_BY_SETTING = Message(
    "sustained.held_by_setting",
    NOT_JUDGED,
    f"{_GPU}: a setting limits the clocks ({{causes}}), first in second {{first}}",
    page=_PAGE,
)
FALLING = Message(
    "sustained.falling", NOT_JUDGED,
    f"{_GPU}: its rate fell by {{fall:.1%}} from the first to the last third of the load, below the power limit",
    page=_PAGE,
)  # fmt: skip

# What a path costs them.
ONE_NUMA_NODE = Message(
    "penalty.one_numa_node", NOT_JUDGED, "the node has one NUMA node: no second path class, so no penalty", page=_PAGE
)
NO_NEAR_PATH = Message(
    "penalty.no_near_path", NOT_JUDGED,
    "no near path of a GPU was measured: nothing to compare other paths with", page=_PAGE,
)  # fmt: skip
ONLY_NEAR = Message(
    "penalty.only_near", NOT_JUDGED, "only near paths were measured: no second path class to compare with", page=_PAGE
)
NO_MATRIX = Message(
    "penalty.no_matrix", NOT_JUDGED, "no host-device matrix was measured with the kernels: the cost of the links alone is unknown",
    page=_PAGE,
)  # fmt: skip
LINK_UNKNOWN = Message(
    "penalty.link_unknown", NOT_JUDGED, "{path}: the rates of its links were not measured", page=_PAGE
)
EXPLAINED = Message(
    "penalty.explained", "PASS", "{path}: the links' rates explain the penalties of {kernels:#kernel}", page=_PAGE
)
BEYOND_LINK = Message(
    "penalty.beyond_link", NOT_JUDGED, "{path}: the link alone does not explain {penalties}", page=_PAGE
)
