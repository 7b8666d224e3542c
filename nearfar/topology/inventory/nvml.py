"""What NVIDIA's driver says of its GPUs, through NVML (nvidia-ml-py).

Nothing here ends in a traceback: a library that is absent, a driver that is not loaded and a GPU that has fallen off
the bus are facts to report.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nearfar.base import NearfarError
from nearfar.topology import Link, normal_bus_id

#: NVML's number of an architecture -> generation of its NVLink (Pascal, Volta, Turing, Ampere, Hopper, Blackwell).
_NVLINK_GENERATIONS = {4: 1, 5: 2, 6: 2, 7: 3, 9: 4, 10: 5}


@dataclass
class DriverGpu:
    """One GPU as the driver has it; ``None``: the driver did not say. ``fault``: why it could not."""

    pci: str
    uuid: str | None = None
    serial: str | None = None
    name: str | None = None
    memory: int | None = None
    mig: bool | None = None
    ecc: bool | None = None
    link: Link | None = None
    vbios: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    nvlink_generation: int | None = None
    to_gpus: dict[str, int] = field(default_factory=dict)  # bus id of the other GPU -> lanes
    to_switches: int = 0
    to_host: int = 0
    nvlinks: int | None = None
    mig_uuids: tuple[str, ...] = ()
    #: Cores × maximum clock, the measure by which CUDA's default order is guessed.
    power: int | None = None
    shown: bool = True
    fault: str | None = None


@dataclass
class DriverReport:
    """The driver's GPUs by bus id, versions, and in ``note`` why there are none."""

    gpus: dict[str, DriverGpu] = field(default_factory=dict)
    driver: str | None = None
    cuda: str | None = None
    note: str | None = None


def read_driver(known: Iterable[str] = (), nvml: Any = None) -> DriverReport:
    """Ask the driver for its GPUs, and for those of the bus ids ``known`` that it does not list.

    ``nvml`` stands in for the module ``pynvml``.
    """
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            return DriverReport(note="NVML was not read: the Python package nvidia-ml-py is not installed")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return DriverReport(note=f"NVML was not read: {error}")
    try:
        return _DriverReader(nvml).report(known)
    finally:
        # Everything has been read; a driver that cannot close has nothing more to say.
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


class _DriverReader:
    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.lost = (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED)
        # The driver does not have it, or does not give it to this container.
        self.hidden = nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_NO_PERMISSION, nvml.NVML_ERROR_INVALID_ARGUMENT

    def report(self, known: Iterable[str]) -> DriverReport:
        report = DriverReport(driver=_text(self._system("nvmlSystemGetDriverVersion")))
        cuda = self._system("nvmlSystemGetCudaDriverVersion")
        if isinstance(cuda, int):
            report.cuda = f"{cuda // 1000}.{cuda % 1000 // 10}"
        faults = []
        for index in range(self._system("nvmlDeviceGetCount") or 0):
            try:
                handle = self.nvml.nvmlDeviceGetHandleByIndex(index)
            except self.nvml.NVMLError as error:
                faults.append(f"the driver's GPU number {index}: {error}")
                continue
            gpu = self._gpu(handle, "")
            if gpu.pci:
                report.gpus[gpu.pci] = gpu
            else:
                faults.append(f"the driver's GPU number {index}: {gpu.fault or 'no bus id'}")
        for pci in known:
            if pci not in report.gpus:
                report.gpus[pci] = self._by_bus_id(pci)
        if faults:
            report.note = "; ".join(faults)
        return report

    def _by_bus_id(self, pci: str) -> DriverGpu:
        try:
            handle = self.nvml.nvmlDeviceGetHandleByPciBusId(pci)
        except self.nvml.NVMLError as error:
            if error.value in self.hidden:
                return DriverGpu(pci, shown=False)
            return DriverGpu(pci, fault=str(error))
        return self._gpu(handle, pci)

    def _system(self, function: str) -> Any:
        try:
            return getattr(self.nvml, function)()
        except (self.nvml.NVMLError, AttributeError):
            return None

    def _gpu(self, handle: Any, pci: str) -> DriverGpu:
        gpu = DriverGpu(pci)

        def ask(function: str, *arguments: Any) -> Any:
            """The driver's answer, or ``None`` where it has none; a lost GPU is noted once and asked no more."""
            call = getattr(self.nvml, function, None)
            if call is None or gpu.fault:
                return None
            try:
                return call(handle, *arguments)
            except self.nvml.NVMLError as error:
                if error.value in self.lost:
                    gpu.fault = str(error)
                return None

        place = ask("nvmlDeviceGetPciInfo")
        if place is not None:
            try:
                gpu.pci = normal_bus_id(_text(place.busId) or "")
            except NearfarError:
                return gpu
        gpu.uuid = _text(ask("nvmlDeviceGetUUID"))
        gpu.serial = _text(ask("nvmlDeviceGetSerial"))  # of the board; not every GPU has one
        gpu.name = _text(ask("nvmlDeviceGetName"))
        memory = ask("nvmlDeviceGetMemoryInfo")
        gpu.memory = memory.total if memory is not None else None
        gpu.vbios = _text(ask("nvmlDeviceGetVbiosVersion"))
        mig = ask("nvmlDeviceGetMigMode")
        gpu.mig = bool(mig[0]) if mig else None
        ecc = ask("nvmlDeviceGetEccMode")
        gpu.ecc = bool(ecc[0]) if ecc else None
        gpu.link = Link(
            "pcie",
            gen=ask("nvmlDeviceGetCurrPcieLinkGeneration") or None,
            width=ask("nvmlDeviceGetCurrPcieLinkWidth") or None,
            max_gen=ask("nvmlDeviceGetMaxPcieLinkGeneration") or None,
            max_width=ask("nvmlDeviceGetMaxPcieLinkWidth") or None,
        )
        gpu.settings = self._settings(ask)
        cores, clock = ask("nvmlDeviceGetNumGpuCores"), ask("nvmlDeviceGetMaxClockInfo", self.nvml.NVML_CLOCK_SM)
        gpu.power = cores * clock if cores and clock else None
        gpu.nvlink_generation = _NVLINK_GENERATIONS.get(ask("nvmlDeviceGetArchitecture") or 0)
        self._nvlinks(gpu, ask)
        if gpu.mig:
            self._mig_devices(gpu, ask)
        return gpu

    def _settings(self, ask: Any) -> dict[str, str]:
        persistence, limit = ask("nvmlDeviceGetPersistenceMode"), ask("nvmlDeviceGetPowerManagementLimit")
        cores = ask("nvmlDeviceGetApplicationsClock", self.nvml.NVML_CLOCK_SM)
        memory = ask("nvmlDeviceGetApplicationsClock", self.nvml.NVML_CLOCK_MEM)
        values = {
            "persistence": None if persistence is None else "on" if persistence else "off",
            "application_clocks": f"SM {cores} MHz, memory {memory} MHz" if cores and memory else None,
            "power_limit": f"{limit / 1000:g} W" if limit else None,  # NVML has milliwatts
        }
        return {key: value for key, value in values.items() if value is not None}

    def _nvlinks(self, gpu: DriverGpu, ask: Any) -> None:
        nvml, active = self.nvml, 0
        for lane in range(nvml.NVML_NVLINK_MAX_LINKS):
            state = ask("nvmlDeviceGetNvLinkState", lane)
            if state is None:
                continue
            gpu.nvlinks = active
            if not state:
                continue
            remote_type = ask("nvmlDeviceGetNvLinkRemoteDeviceType", lane)
            if remote_type == nvml.NVML_NVLINK_DEVICE_TYPE_IBMNPU:
                gpu.to_host += 1
                continue
            active += 1
            gpu.nvlinks = active
            if remote_type == nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH:
                gpu.to_switches += 1
                continue
            remote = ask("nvmlDeviceGetNvLinkRemotePciInfo", lane)
            if remote is not None:
                try:
                    other = normal_bus_id(_text(remote.busId) or "")
                except NearfarError:
                    continue
                gpu.to_gpus[other] = gpu.to_gpus.get(other, 0) + 1
        if gpu.to_host:
            gpu.link = Link("nvlink", gpu.nvlink_generation, gpu.to_host, gpu.nvlink_generation, gpu.to_host)
        mode = ask("nvmlDeviceGetC2cModeInfoV")
        if mode is not None and getattr(mode, "isC2cEnabled", False):
            gpu.link = Link("c2c")

    def _mig_devices(self, gpu: DriverGpu, ask: Any) -> None:
        uuids = []
        for number in range(ask("nvmlDeviceGetMaxMigDeviceCount") or 0):
            instance = ask("nvmlDeviceGetMigDeviceHandleByIndex", number)
            if instance is not None:
                try:
                    uuids.append(_text(self.nvml.nvmlDeviceGetUUID(instance)) or "")
                except self.nvml.NVMLError:
                    continue
        gpu.mig_uuids = tuple(uuids)


def _text(value: Any) -> str | None:
    """NVML's texts are bytes in older versions of the package."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None
