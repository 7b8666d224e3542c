"""What the driver itself says that a GPU wants: nothing, a reset, a reboot (drivers from R565)."""

from __future__ import annotations

from . import messages
from .nvml_answers import each, unread
from .source import Now, Seen

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
            message = messages.RECOVERY.get(action, messages.RECOVERY_OTHER)
            found.append(now.finding(message, gpu.pci, "recovery", action=action))
    return Seen(
        f"{answered} GPUs say what they want" if answered else "",
        tuple(found),
        unread=unread(now, gpus, "what the driver wants"),
    )
