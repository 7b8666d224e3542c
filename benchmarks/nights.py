"""How often ``act`` drains by k of m nights: a fault that comes and goes, and a healthy node.

A night is FAIL, or DEGRADED intermittent, or neither, of one figure; nights are independent. Drained is when a night is FAIL and at
least k of the last m nights, this one among them, were either. Exact, by the chain of the last m nights; no random numbers.

    python -m benchmarks.nights
"""

from __future__ import annotations

from collections import defaultdict
from math import comb

NIGHTS = 30
#: A fault on one night in five: FAIL on each of these nights, or on half of them only DEGRADED intermittent.
FAULTS = {"FAIL each time": (0.2, 0.0), "FAIL every other time": (0.1, 0.1)}
#: A healthy node has one FAIL and ten DEGRADED in 1,000 nights: taken as all intermittent and all of one figure, or over ten.
FAIL, DEGRADED = 0.001, 0.010
RULES = [(2, 5), (2, 7), (2, 14), (3, 14), (3, 21), (3, 28), (3, 30), (4, 30)]


def drained(k: int, m: int, fail: float, degraded: float, nights: int = NIGHTS) -> float:
    """The chance that a node is drained within so many nights, with a FAIL of one figure on a night and a DEGRADED."""
    # How many nights ago the newest k - 1 counted nights were; older than m - 1 do not matter.
    states: dict[tuple[int, ...], float] = {(): 1.0}
    found = 0.0
    for _ in range(nights):
        after: dict[tuple[int, ...], float] = defaultdict(float)
        for ago, chance in states.items():
            older = tuple(n + 1 for n in ago if n + 1 < m)
            after[older] += chance * (1 - fail - degraded)
            counted = (0, *older)[: k - 1]
            if len(older) >= k - 1:
                found += chance * fail
            else:
                after[counted] += chance * fail
            after[counted] += chance * degraded
        states = after
    return found


def wrongly(k: int, m: int, figures: int) -> float:
    """Nights of 1,000 on which a healthy node would be drained, its bad nights spread over so many figures. (No more drains than
    that: one drain begins the count anew.)"""
    fail, either = FAIL / figures, (FAIL + DEGRADED) / figures
    fewer = sum(comb(m - 1, n) * either**n * (1 - either) ** (m - 1 - n) for n in range(k - 1))
    return 1000 * figures * fail * (1 - fewer)


def main() -> None:
    """Print the table."""
    heads = [*(f"found, {name}" for name in FAULTS), "wrong per 1,000, one figure", "over ten figures"]
    print("| k of m nights | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 1) + "|")
    for k, m in RULES:
        found = [f"{drained(k, m, *chances) * 100:.1f} %" for chances in FAULTS.values()]
        wrong = [f"{wrongly(k, m, figures):.2g}" for figures in (1, 10)]
        print(f"| {k} of {m} | {' | '.join([*found, *wrong])} |")


if __name__ == "__main__":
    main()
