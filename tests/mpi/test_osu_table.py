"""OSU's output: both dialects, real and constructed; half a table and wrong data are refused with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.mpi.osu import fabric, installed, table
from nearfar.mpi.osu.benchmarks import BENCHMARKS, LARGEST

DATA = Path(__file__).parents[1] / "data" / "osu"
WHOLE = ("latency", "bw", "bibw", "mbw_mr", "multi_lat", "allreduce", "alltoall")


def read(name: str) -> table.OsuTable:
    return table.parse((DATA / name).read_text())


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
@pytest.mark.parametrize("name", WHOLE)
def test_real_tables_are_whole(mpi: str, name: str) -> None:
    benchmark = BENCHMARKS[f"osu_{name}"]
    found = read(f"real/{mpi}-{name}.txt")
    table.check(found, benchmark, benchmark.least)
    assert (found.version, found.accelerator, found.validated) == ("7.4", None, False)
    for quantity in benchmark.quantities:
        assert list(table.values(found, benchmark, quantity)) == table.sizes(benchmark.least, LARGEST)


@pytest.mark.parametrize(
    "name, columns, size, values",
    [
        ("real/mpich-latency-validated-percentiles.txt",
         ("Avg Latency(us)", "Validation", "P50 Tail Lat(us)", "P99 Tail Lat(us)"), 8, None),
        ("real/openmpi-mbw_mr-validated-percentiles.txt",
         ("MB/s", "Messages/s", "Validation", "P50 Tail BW(MB/s)", "P90 Tail BW(MB/s)", "P99 Tail BW(MB/s)"), 8, None),
        ("real/mpich-allreduce-full-validated.txt",
         ("Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations", "Validation"), 8, None),
        ("constructed/5.6-latency.txt", ("Latency (us)",), 0, {"Latency (us)": 0.19}),
        ("constructed/5.6-mbw_mr.txt", ("MB/s", "Messages/s"), 8, {"MB/s": 170.11, "Messages/s": 21263456.78}),
        ("constructed/5.6-allreduce-full.txt",
         ("Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations"), 8,
         {"Avg Latency(us)": 1.10, "Min Latency(us)": 0.97, "Max Latency(us)": 1.30, "Iterations": 1000}),
        ("constructed/5.9-latency-cuda-validated.txt", ("Latency (us)", "Validation"), 64, {"Latency (us)": 4.31}),
    ],
)  # fmt: skip
def test_dialects(name: str, columns: tuple[str, ...], size: int, values: dict[str, float] | None) -> None:
    found = read(name)
    assert found.columns == columns
    assert found.validated == ("Validation" in columns)
    assert found.failed == ()
    if values is not None:
        assert found.rows[size] == values


def test_what_a_heading_says() -> None:
    found = read("constructed/5.9-latency-cuda-validated.txt")
    assert (found.version, found.accelerator, found.buffers) == ("5.9", "CUDA", ("D", "H"))
    assert read("constructed/5.6-mbw_mr.txt").pairs == 4


def test_the_5_dialect_begins_at_zero_bytes() -> None:
    latency = BENCHMARKS["osu_latency"]
    found = read("constructed/5.6-latency.txt")
    table.check(found, latency, 0)
    assert table.values(found, latency, "mpi.latency")[0] == 0.19


def test_units() -> None:
    benchmark = BENCHMARKS["osu_mbw_mr"]
    found = read("constructed/5.6-mbw_mr.txt")
    assert table.values(found, benchmark, "mpi.bandwidth")[8] == pytest.approx(0.17011)  # GB/s
    assert table.values(found, benchmark, "mpi.message_rate")[8] == pytest.approx(21.26345678)  # millions a second


def test_a_rate_that_two_decimals_round_to_nothing_is_left_out() -> None:
    benchmark, text = BENCHMARKS["osu_bw"], (DATA / "real/openmpi-bw.txt").read_text()
    single_byte, largest = (
        next(line for line in text.split("\n") if line.startswith(f"{size} ")) for size in (1, LARGEST)
    )
    slow = table.parse(text.replace(single_byte, "1      0.00"))
    table.check(slow, benchmark, 1)
    assert min(table.values(slow, benchmark, "mpi.bandwidth")) == 2
    with pytest.raises(table.BadTable, match=rf"{LARGEST} B: 0 is not a figure"):
        table.check(table.parse(text.replace(largest, f"{LARGEST}  0.00")), benchmark, 1)


def test_lines_of_libraries_between_the_rows() -> None:
    found = read("real/mpich-latency-ucx-log.txt")
    assert list(found.rows) == table.sizes(8, 512)


def test_a_failed_validation_is_wrong_data() -> None:
    found = read("real/openmpi-allreduce-validation-failed.txt")
    with pytest.raises(table.InvalidData, match=r"validation failed at 16 B"):
        table.check(found, BENCHMARKS["osu_allreduce"], 8)


LATENCY = (DATA / "real/openmpi-latency.txt").read_text()


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda text: "\n".join(line for line in text.split("\n") if not line.startswith("65536 ")), "65536 B missing"),
        (lambda text: text[: text.index("2097152")], "2097152 B, 4194304 B missing"),
        (lambda text: text.replace("# Size       Avg Latency(us)", "# Size       Half Life (us)"), "no known OSU prints: 'Half Life"),
        (lambda text: text + text, "two tables"),
        (lambda text: text + "8      1.00\n", "two rows of 8 B"),
        (lambda text: text + "8388608\n", None),
        (lambda text: text + "8388608   nan\n", "8388608 B: nan is not a figure"),
        (lambda text: text + "8388608   -1.0\n", "8388608 B: -1.0 is not a figure"),
        (lambda text: text + "8388608   fast\n", "'fast' is not a figure"),
        (lambda text: text + "8388608   1.0  2.0\n", "the row of 8388608 B has 2 of 1 figures"),
        (lambda text: "This test requires exactly two processes\n", "begins with 'This test requires"),
        (lambda text: "", "the output is empty"),
        (lambda text: (DATA / "real/openmpi-bw.txt").read_text(), "osu_latency was asked for, and 'OSU MPI Bandwidth Test' answered"),
    ],
)  # fmt: skip
def test_bad_tables_name_the_place(change: object, words: str | None) -> None:
    def checked() -> None:
        found = table.parse(change(LATENCY))  # type: ignore[operator]
        table.check(found, BENCHMARKS["osu_latency"], 1)

    if words is None:
        checked()  # a line of a number alone is no row
    else:
        with pytest.raises(table.BadTable, match=words.replace("(", r"\(")):
            checked()


@given(st.integers(min_value=0, max_value=len(LATENCY) - 1))
def test_no_beginning_of_a_table_passes_for_the_whole(length: int) -> None:
    with pytest.raises(table.BadTable):
        table.check(table.parse(LATENCY[:length]), BENCHMARKS["osu_latency"], 1)


COLUMNS = st.lists(
    st.sampled_from(["Validation", "P50 Tail Lat(us)", "P90 Tail Lat(us)", "P99 Tail Lat(us)", "Min Latency(us)",
                     "Max Latency(us)", "Iterations", "Transmit Size"]), unique=True,
)  # fmt: skip


@given(
    heading=st.sampled_from(["Latency (us)", "Avg Latency(us)"]), others=COLUMNS, gap=st.integers(1, 12),
    least=st.sampled_from([0, 1, 4, 8]), figures=st.data(), fails=st.booleans(),
)  # fmt: skip
def test_whatever_columns_stand_beside_the_figure(
    heading: str, others: list[str], gap: int, least: int, figures: st.DataObject, fails: bool
) -> None:
    columns = [heading, *others]
    sizes = table.sizes(least, 1 << 10)
    values = {size: figures.draw(st.integers(1, 10**9)) / 100 for size in sizes}
    blank = " " * gap
    lines = ["", "# OSU MPI Latency Test v7.4", "# Datatype: MPI_CHAR.", "# Size" + blank + blank.join(columns)]
    last = "Fail" if fails else "Pass"
    for size in sizes:
        words = [f"{values[size]:.2f}"]
        words += [("Pass" if size != sizes[-1] else last) if column == "Validation" else "1.00" for column in others]
        lines.append(f"{size:<10}{blank}{blank.join(words)}")
    found = table.parse("\n".join(lines) + "\n")
    assert found.columns == tuple(columns)
    assert table.values(found, BENCHMARKS["osu_latency"], "mpi.latency") == pytest.approx(values)
    assert found.failed == ((sizes[-1],) if fails and "Validation" in others else ())


def test_what_the_help_offers() -> None:
    found = installed.read_help((DATA / "real/help-7.4-latency.txt").read_text())
    assert (found.validates, found.devices, found.ranges) == (True, False, True)
    assert found.sizes(8, 64) == ["-m", "8:64"]
    assert found.trial(reduces=True)[-2:] == ["-T", "mpi_float"]
    cuda = installed.read_help((DATA / "real/help-7.4-latency-cuda.txt").read_text())
    assert (cuda.validates, cuda.devices) == (True, True)
    old = installed.read_help(
        "Usage: osu_latency [options] [RANK0 RANK1]\n  -d, --accelerator TYPE\n  -m, --message-size SIZE\n"
    )
    assert (old.validates, old.devices, old.sizes(8, 64)) == (False, True, ["-m", "64"])


def test_the_nic_is_read_back_from_ucx() -> None:
    text = (DATA / "real/mpich-latency-ucx-log.txt").read_text()
    assert fabric.used(text) == ("eth0",)
    assert fabric.not_forced("eth0", fabric.used(text)) is None
    assert fabric.not_forced("mlx5_0", fabric.used(text)) == "mlx5_0 was forced, and the MPI used eth0"
    assert "is not proven" in (fabric.not_forced("mlx5_0", fabric.used(LATENCY)) or "")
    constructed = "UCX  INFO  ep_cfg[2]: tag(rc_mlx5/mlx5_1:1 posix/memory) rma(cuda_ipc/cuda)\n"
    assert fabric.used(constructed) == ("mlx5_1",)
    assert fabric.forcing("mlx5_0")["UCX_NET_DEVICES"] == "mlx5_0:1"
    assert fabric.forcing("eth0")["UCX_NET_DEVICES"] == "eth0"


def counters(root: Path, **values: int) -> dict[str, int]:
    """The counters of a machine with the InfiniBand ports and interfaces of these words (InfiniBand's) and bytes."""
    for name, value in values.items():
        place = "infiniband/{}/ports/1/counters/port_xmit_data" if "_" in name else "net/{}/statistics/tx_bytes"
        file = root / "sys/class" / place.format(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
        if name == "eth0":
            (file.parents[1] / "device").mkdir(exist_ok=True)
    return fabric.sent(root)


@pytest.mark.parametrize(
    "after, nics",
    [
        ({"mlx5_0": 100 + (8 << 20), "mlx5_1": 100, "eth0": 9000}, ("mlx5_0",)),
        ({"mlx5_0": 100 + (8 << 20), "mlx5_1": 100 + (8 << 20), "eth0": 0}, ("mlx5_0", "mlx5_1")),
        ({"mlx5_0": 100, "mlx5_1": 100, "eth0": 64 << 20}, ("eth0",)),
        ({"mlx5_0": 100, "mlx5_1": 100, "eth0": 5000, "lo": 64 << 20}, ()),  # within the node, whatever was forced
        ({"mlx5_0": 0, "mlx5_1": 100, "eth0": 0}, ()),  # a counter that began anew
    ],
)
def test_the_nic_is_read_back_from_its_counter(tmp_path: Path, after: dict[str, int], nics: tuple[str, ...]) -> None:
    before = counters(tmp_path, mlx5_0=100, mlx5_1=100, eth0=0, lo=0)
    assert before == {"mlx5_0": 400, "mlx5_1": 400, "eth0": 0}
    assert fabric.which(LATENCY, before, counters(tmp_path, **after)) == nics


def test_what_ucx_logs_behind_a_line_of_another_rank_is_no_column() -> None:
    log = "[1795364898.877185] [n2:799  :0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: tag(tcp/eth0)"
    text = f"# OSU MPI Latency Test v7.4\n# Size          Latency (us){log}\n\n1                       0.50\n2   0.51{log}\n"
    found = table.parse(text)
    assert found.rows == {1: {"Latency (us)": 0.5}, 2: {"Latency (us)": 0.51}}
