"""What the codes of skips and failures in a measurement document mean."""

from __future__ import annotations

#: The skips that a program by itself takes for expected. The judge knows more: a cell that was asked for has no representative,
#: and what must exist is not unsupported.
EXPECTED_SKIPS = ("representative", "unsupported")
#: Failures that prove nothing about the hardware; all other codes are hard evidence.
SOFT_FAILURES = ("placement", "error", "hung_once")
#: Reasons for held-down clocks that speak of heat or of the power supply, not of a setting, the power limit or an idle GPU.
HARDWARE_THROTTLES = ("hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal")
