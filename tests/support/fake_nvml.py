"""A stand-in for the module ``pynvml``: GPUs as data, errors where the data says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class NVMLError(Exception):
    def __init__(self, value: int, words: str = "") -> None:
        super().__init__(words or f"error {value}")
        self.value = value


@dataclass
class FakeGpu:
    """One GPU. ``lanes`` are the other ends of its active NVLink lanes: a bus id, ``switch`` or ``host``; ``None``: inactive.

    ``lost_at``: the function at which it falls off the bus, or ``handle``. ``listed``: whether the driver counts it.
    """

    pci: str
    uuid: str = "GPU-0"
    serial: str | None = None
    name: str = "NVIDIA H200"
    memory: int = 141 << 30
    mig: tuple[str, ...] | None = None
    ecc: bool | None = True
    link: tuple[int, int, int, int] = (1, 16, 5, 16)
    lanes: tuple[str | None, ...] = ()
    architecture: int = 9
    cores: int = 100
    c2c: bool = False
    lost_at: str = ""
    listed: bool = True


@dataclass
class FakeNvml:
    gpus: list[FakeGpu] = field(default_factory=list)
    init_error: str = ""
    cuda: int = 13000

    NVMLError = NVMLError
    NVML_ERROR_INVALID_ARGUMENT = 2
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_NO_PERMISSION = 4
    NVML_ERROR_NOT_FOUND = 6
    NVML_ERROR_GPU_IS_LOST = 15
    NVML_ERROR_RESET_REQUIRED = 16
    NVML_NVLINK_MAX_LINKS = 18
    NVML_NVLINK_DEVICE_TYPE_GPU = 0
    NVML_NVLINK_DEVICE_TYPE_IBMNPU = 1
    NVML_NVLINK_DEVICE_TYPE_SWITCH = 2
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2

    def nvmlInit(self) -> None:
        if self.init_error:
            raise NVMLError(9, self.init_error)

    def nvmlShutdown(self) -> None:
        return None

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"580.159.04"

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return self.cuda

    def nvmlDeviceGetCount(self) -> int:
        return sum(gpu.listed for gpu in self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        return self._handle([gpu for gpu in self.gpus if gpu.listed][index])

    def nvmlDeviceGetHandleByPciBusId(self, pci: str) -> FakeGpu:
        found = [gpu for gpu in self.gpus if gpu.pci == pci]
        if not found:
            raise NVMLError(self.NVML_ERROR_NOT_FOUND, "Not Found")
        return self._handle(found[0])

    def _handle(self, gpu: FakeGpu) -> FakeGpu:
        if gpu.lost_at == "handle":
            raise NVMLError(self.NVML_ERROR_GPU_IS_LOST, "GPU is lost")
        return gpu

    def _answer(self, gpu: FakeGpu, function: str, value: Any) -> Any:
        if gpu.lost_at == function:
            raise NVMLError(self.NVML_ERROR_GPU_IS_LOST, "GPU is lost")
        if value is None:
            raise NVMLError(self.NVML_ERROR_NOT_SUPPORTED, "Not Supported")
        return value

    def nvmlDeviceGetPciInfo(self, gpu: FakeGpu) -> Any:
        return self._answer(gpu, "pci", SimpleNamespace(busId=f"0000{gpu.pci.upper()}".encode()))

    def nvmlDeviceGetUUID(self, gpu: Any) -> str:
        return gpu if isinstance(gpu, str) else self._answer(gpu, "uuid", gpu.uuid)

    def nvmlDeviceGetSerial(self, gpu: FakeGpu) -> str:
        return self._answer(gpu, "serial", gpu.serial)

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:
        return self._answer(gpu, "name", gpu.name)

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> Any:
        return self._answer(gpu, "memory", SimpleNamespace(total=gpu.memory))

    def nvmlDeviceGetVbiosVersion(self, gpu: FakeGpu) -> str:
        return "96.00.A5"

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> Any:
        return self._answer(gpu, "mig", [gpu.mig is not None] * 2)

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: FakeGpu) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: FakeGpu, index: int) -> str:
        if index >= len(gpu.mig or ()):
            raise NVMLError(self.NVML_ERROR_NOT_FOUND)
        return (gpu.mig or ())[index]

    def nvmlDeviceGetEccMode(self, gpu: FakeGpu) -> Any:
        return self._answer(gpu, "ecc", None if gpu.ecc is None else [int(gpu.ecc)] * 2)

    def nvmlDeviceGetCurrPcieLinkGeneration(self, gpu: FakeGpu) -> int:
        return gpu.link[0]

    def nvmlDeviceGetCurrPcieLinkWidth(self, gpu: FakeGpu) -> int:
        return gpu.link[1]

    def nvmlDeviceGetMaxPcieLinkGeneration(self, gpu: FakeGpu) -> int:
        return gpu.link[2]

    def nvmlDeviceGetMaxPcieLinkWidth(self, gpu: FakeGpu) -> int:
        return gpu.link[3]

    def nvmlDeviceGetNumGpuCores(self, gpu: FakeGpu) -> int:
        return gpu.cores

    def nvmlDeviceGetMaxClockInfo(self, gpu: FakeGpu, clock: int) -> int:
        return 1980

    def nvmlDeviceGetPersistenceMode(self, gpu: FakeGpu) -> int:
        return 1

    def nvmlDeviceGetApplicationsClock(self, gpu: FakeGpu, clock: int) -> int:
        return {self.NVML_CLOCK_SM: 1980, self.NVML_CLOCK_MEM: 3201}[clock]

    def nvmlDeviceGetPowerManagementLimit(self, gpu: FakeGpu) -> int:
        return self._answer(gpu, "power_limit", 700_000)

    def nvmlDeviceGetArchitecture(self, gpu: FakeGpu) -> int:
        return gpu.architecture

    def nvmlDeviceGetNvLinkState(self, gpu: FakeGpu, lane: int) -> int:
        return self._answer(gpu, "nvlink", int(gpu.lanes[lane] is not None) if lane < len(gpu.lanes) else None)

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: FakeGpu, lane: int) -> int:
        return {"switch": 2, "host": 1}.get(gpu.lanes[lane] or "", 0)

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: FakeGpu, lane: int) -> Any:
        return SimpleNamespace(busId=gpu.lanes[lane])

    def nvmlDeviceGetC2cModeInfoV(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(isC2cEnabled=int(gpu.c2c))
