"""What NCCL says of itself with ``NCCL_DEBUG=INFO``, in the words of its versions 2.4 to 2.32: what it was told, and how it sends."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

#: The parts of NCCL that have to speak for all of this, as ``NCCL_DEBUG_SUBSYS`` takes them.
SUBSYSTEMS = "INIT,GRAPH,ENV,NET,P2P,SHM,NVLS,TUNING"
_VERSION = re.compile(r"\bNCCL version (\d+\.\d+\.\d+)")
_CHANNEL = re.compile(
    r"(?:Channel|Ring) \d+(?:/\d+)? : (\d+)(?:\[\w+\])? -> (\d+)(?:\[\w+\])? (?:\[(?:send|receive)\] )?via (\S.*?)\s*$",
    re.MULTILINE,
)
_CHANNELS = re.compile(r"(\d+) coll channels(?:, \d+ collnet channels)?(?:, (\d+) nvls channels)?")
_RINGS = re.compile(r"Channel \d+/(\d+) : +(\d+(?: +\d+)+)")
_VARIABLE = re.compile(r"\b(NCCL_[A-Z0-9_]+) set by environment to (\S.*?)\.?\s*$", re.MULTILINE)
_CHOICE = re.compile(r"(?:(\w+): )?(\d+) Bytes -> Algo (\w+) proto (\w+)")
_INITIALISED = re.compile(r"\brank (\d+) nranks (\d+) .*Init COMPLETE")
_NVLS = re.compile(r"NVLS multicast support is (not )?available")
#: NCCL's numbers of algorithms and protocols, in logs before 2.24.
_ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
_PROTOCOLS = ("LL", "LL128", "Simple")
#: What its warnings and remarks show, by a word of ours.
_SIGNS = {
    "gdr_disabled": r"GPU Direct RDMA Disabled",
    "p2p_disabled": r"P2P is disabled between connected GPUs",
    "nvlink_p2p_disabled": r"P2P is disabled between NVLINK connected GPUs",
    "no_ib": r"NET/IB : No device found|Failed to open libibverbs",
    "network_socket": r"Using network Socket",
    "shm_failed": r"posix_fallocate failed|creating shared memory segment|failed to extend /dev/shm",
    "memlock": r"(?:ibv_reg_mr|ibv_create_\w+|cudaHostRegister)\S* .*(?:Cannot allocate memory|out of memory)|RLIMIT_MEMLOCK",
    "fabric": r"system not yet initialized|nvls\.cc:\d+ NCCL WARN Cuda failure",
    "acs_hint": r"indicates that ACS is enabled",
    "virtual_topology": r"virtualTopology\.xml",
    "versions_differ": r"Mismatched NCCL version|NCCL version mismatch",
}


@dataclass(frozen=True)
class NcclLog:
    """What one log says, in kinds of values that JSON has; a text without a line of NCCL's leaves all as it is here."""

    versions: Sequence[str] = ()
    #: By pair of ranks (``0 → 1``): ``P2P/CUMEM``, ``P2P/IPC``, ``P2P/direct``, ``SHM``, ``NET/IB/GDRDMA``, ``NET/IB``, ``NET/Socket``,
    #: ``NET/AWS Libfabric`` …; of several the slowest.
    transports: Mapping[str, str] = field(default_factory=dict)
    channels: int | None = None
    #: Whether it may use NVLink's multicast; None: it says nothing of it.
    nvls: bool | None = None
    #: Algorithm and protocol by collective and bytes: ``all_reduce 1073741824``; older versions do not name the collective.
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: The variables that it found in the environment.
    variables: Mapping[str, str] = field(default_factory=dict)
    #: What its warnings show (``_SIGNS``).
    signs: Collection[str] = ()
    #: The ranks that were ready, of how many.
    initialised: Collection[int] = ()
    ranks: int | None = None
    #: The ranks in the order of the first channel's ring; empty: not said.
    ring: Sequence[int] = ()

    @property
    def multicast(self) -> bool:
        """Whether it says that NVLink's multicast is in use."""
        if self.choices:
            return any(algorithm.startswith("nvls") for algorithm, _ in self.choices.values())
        return bool(self.nvls) and "nvls" in self.variables.get("NCCL_ALGO", "nvls").lower()


def read_log(text: str) -> NcclLog:
    """What a log says, whatever else stands in it."""
    transports: dict[str, str] = {}
    for source, sink, via in _CHANNEL.findall(text):
        pair, transport = f"{source} → {sink}", _transport(via)
        transports[pair] = max(transports.get(pair, transport), transport, key=slowness)
    told, rings, ready = _CHANNELS.findall(text), _RINGS.findall(text), _INITIALISED.findall(text)
    multicast_channels = [int(count) for _, count in told if count]
    multicast = {not absent for absent in _NVLS.findall(text)}
    counts = [int(count) for count, _ in told] or [int(count) for count, _ in rings]
    return NcclLog(
        versions=list(dict.fromkeys(_VERSION.findall(text))),
        transports=transports,
        channels=max(counts, default=None),
        nvls=any(multicast_channels) if multicast_channels else False not in multicast if multicast else None,
        choices={
            f"{_collective(name)} {size}".strip(): _choice(*chosen) for name, size, *chosen in _CHOICE.findall(text)
        },
        variables=dict(_VARIABLE.findall(text)),
        signs=sorted(word for word, pattern in _SIGNS.items() if re.search(pattern, text)),
        initialised=sorted({int(rank) for rank, _ in ready}),
        ranks=max((int(ranks) for _, ranks in ready), default=None),
        ring=[int(rank) for rank in rings[0][1].split()] if rings else [],
    )


def _transport(via: str) -> str:
    """A transport without the number of its NIC and how its buffers are shared."""
    if via.startswith(("SHM", "direct shared memory")):
        return "SHM"
    if via.startswith("P2P"):
        return "/".join(["P2P", via.split("/")[1].split(" ")[0]]) if "/" in via else "P2P"
    network = re.sub(r"^IB\w*", "IB", via.removeprefix("NET/").split("/")[0])
    return f"NET/{network}" + ("/GDRDMA" if "GDRDMA" in via else "")


def slowness(transport: str) -> int:
    """Slower transports are greater."""
    kinds = ("P2P", "SHM", "NET")
    place = next((at for at, kind in enumerate(kinds) if transport.startswith(kind)), len(kinds))
    return 2 * place + (not transport.endswith("GDRDMA")) + 2 * transport.endswith("Socket")


def _collective(name: str) -> str:
    """nccl-tests' name of a collective."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("all_to_all", "alltoall")


def _choice(algorithm: str, protocol: str) -> list[str]:
    """In our words, however the version writes them."""
    if algorithm.isdecimal():
        algorithm, protocol = (
            names[int(number)] if int(number) < len(names) else number
            for names, number in ((_ALGORITHMS, algorithm), (_PROTOCOLS, protocol))
        )
    return [algorithm.lower(), protocol.replace("SIMPLE", "Simple")]
