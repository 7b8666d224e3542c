"""What a page adds to the findings of a run: cases without a verdict, and what several findings have in common."""

from __future__ import annotations

from nearfar.base import Message

# fmt: off
CASE_MISSING = Message("case.missing", "INDETERMINATE", "{subject}[ on {node}] should have run and did not[: {cause}][ ({case})]")
CASE_LOST = Message("case.no_verdict", "INDETERMINATE", "{problem} ({node})")
PART_EXPLAINS = Message("figures.part_explains", "FAIL", "{cause}", page="read-a-page.md")
COLLECTIVES = Message("figures.collectives", "FAIL", "{count:#collective figure} out of bounds: {causes}")
GPU_SHARED = Message("figures.gpu_shared", "FAIL", "{share} figures out of bounds go through GPU {gpu}", page="read-a-page.md")
SAME_GAP = Message("checks.same_gap", "INDETERMINATE",
                   "{cause}; {checks:#check} could not measure everything requested; this is no evidence against the node")
NICS_MISSING = Message("nics.missing", "FAIL", "{count} NICs are missing: {nics}", "check their driver, then reseat them")
DEGRADED_REFUSED = Message("acceptance.degraded", "DEGRADED", "not accepted because DEGRADED: {degraded}",
                           "measure again, or accept it with --accept-degraded", page="read-a-page.md")
DEGRADED_ACCEPTED = Message("acceptance.degraded_accepted", "DEGRADED", "accepted although DEGRADED (--accept-degraded): {degraded}",
                            page="read-a-page.md")
