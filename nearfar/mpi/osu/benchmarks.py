"""The benchmarks that nearfar runs: what each is called, what it prints and what it measures."""

from __future__ import annotations

from dataclasses import dataclass

#: Largest message, bytes: the default of OSU's point-to-point benchmarks, asked of all.
LARGEST = 1 << 22


@dataclass(frozen=True)
class Benchmark:
    """One of OSU's programs.

    ``title`` is what stands in its heading between ``OSU MPI`` and the version. ``columns`` are the headings of its
    figures, in any dialect, each with the quantity, its unit and the factor from OSU's unit. ``pair``: exactly two ranks. ``least``: the
    smallest message that is asked for, bytes. ``repeats``: how often OSU repeats messages up to 8 KiB, and larger ones.
    ``says_cuda``: with device buffers its heading has ``-CUDA``; those of the benchmarks of many pairs are the same whatever they measure.
    """

    name: str
    title: str
    folder: str
    columns: tuple[tuple[tuple[str, ...], str, str, float], ...]
    repeats: tuple[int, int]
    pair: bool = False
    least: int = 1
    reduces: bool = False
    says_cuda: bool = True

    @property
    def quantities(self) -> tuple[str, ...]:
        """The quantities that its table holds."""
        return tuple(quantity for _, quantity, _, _ in self.columns)


#: OSU's own repetitions, the same in 5.x and 7.x.
_OF_LATENCY, _OF_BANDWIDTH, _OF_COLLECTIVES = (10_000, 1_000), (100, 20), (1_000, 100)
_LATENCY = ("Latency (us)", "Avg Latency(us)")
_MB = 1e-3  # OSU's MB/s is 1e6 bytes per second

BENCHMARKS = {
    each.name: each
    for each in (
        Benchmark("osu_latency", "Latency Test", "pt2pt", ((_LATENCY, "mpi.latency", "us", 1.0),), _OF_LATENCY, pair=True),
        Benchmark(
            "osu_bw", "Bandwidth Test", "pt2pt", ((("Bandwidth (MB/s)",), "mpi.bandwidth", "GB/s", _MB),), _OF_BANDWIDTH, pair=True
        ),
        Benchmark(
            "osu_bibw", "Bi-Directional Bandwidth Test", "pt2pt",
            ((("Bandwidth (MB/s)",), "mpi.bibandwidth", "GB/s", _MB),), _OF_BANDWIDTH, pair=True,
        ),
        Benchmark(
            "osu_mbw_mr", "Multiple Bandwidth / Message Rate Test", "pt2pt",
            ((("MB/s",), "mpi.bandwidth", "GB/s", _MB), (("Messages/s",), "mpi.message_rate", "Mmsg/s", 1e-6)),
            _OF_BANDWIDTH, says_cuda=False,
        ),
        Benchmark(
            "osu_multi_lat", "Multi Latency Test", "pt2pt", ((_LATENCY, "mpi.latency", "us", 1.0),), _OF_LATENCY,
            says_cuda=False,
        ),
        Benchmark(
            "osu_allreduce", "Allreduce Latency Test", "collective", ((_LATENCY, "mpi.allreduce", "us", 1.0),),
            _OF_COLLECTIVES, least=8, reduces=True,
        ),
        Benchmark(
            "osu_alltoall", "All-to-All Personalized Exchange Latency Test", "collective",
            ((_LATENCY, "mpi.alltoall", "us", 1.0),), _OF_COLLECTIVES, least=8,
        ),
    )
}  # fmt: skip
