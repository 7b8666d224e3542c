"""What the driver itself says that a GPU wants: nothing, a reset, a reboot (drivers from R565)."""

from __future__ import annotations

from . import messages
from .kernel_log import ACTIONS
from .nvml_answers import each, unread
from .source import Now, Seen, gpu_name, item
from .xids import HARD

_ACTION = ("GET_GPU_RECOVERY_ACTION", 0)


def look(now: Now) -> Seen:
    """A GPU of which the driver says that it is no use before a reset or reboot is FAIL."""
    found, answered, gpus = [], 0, list(each(now))
    for gpu in gpus:
        action = gpu.fields([_ACTION]).get(_ACTION)
        if action is None:
            continue
        answered += 1
        if action != 0:
            kind, remedy = ACTIONS.get(
                action, ("", f"its recovery action is {action}: look it up in NVML's documentation")
            )
            hard = kind == HARD
            found.append(messages.RECOVERY_WANTED.finding(
                item(now, gpu.pci, "recovery"), verdict="FAIL" if hard else "DEGRADED", hard=hard, gpu=gpu_name(now, gpu.pci),
                action=remedy,
            ))  # fmt: skip
    return Seen(
        f"{answered} GPUs say what they want" if answered else "",
        tuple(found),
        unread=unread(now, gpus, "what the driver wants"),
    )
