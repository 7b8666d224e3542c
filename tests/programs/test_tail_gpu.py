"""``nearfar-copy --tail`` on real GPUs: its median agrees with the rate, and every path of two GPUs takes little time."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import measurement
from tests.programs.test_copy_gpu import copy

pytestmark = pytest.mark.gpu

#: How much longer the median transfer may take than the rate says: each pays for its start.
START = 1.25


def test_the_median_transfer_is_as_long_as_the_rate_says(build_folder: Path) -> None:
    code, rates, stderr = copy(build_folder, "n0:g0")
    assert code == 0, stderr
    code, document, stderr = copy(build_folder, "n0:g0", "--tail")
    assert code == 0, (document.get("skipped"), document.get("failed"), stderr)
    (result,) = measurement.document.from_raw(document, "nearfar-copy --tail").results
    assert result.tail is not None and result.bytes == 16 << 20 and result.tail.count == 1000
    expected = result.bytes / rates["results"][0]["total"]["median"] / 1e3
    assert expected / START < result.tail.p50 < expected * START
    assert result.tail.p50 <= result.tail.p99 <= result.tail.p99_9 <= result.tail.worst
    assert 0 < result.tail.worst_at < document["seconds"] and result.verified
