"""What this machine is: lstopo, NVML and sysfs put together into one ``Node``, and the software stamp.

Needs: base, topology.
"""

from .lstopo import hwloc_version, lstopo_xml
from .memory_errors import read_gpu_memory
from .observation import observe, software_stamp
from .sysfs import gpu_pci_devices

__all__ = [
    "gpu_pci_devices",
    "hwloc_version",
    "lstopo_xml",
    "observe",
    "read_gpu_memory",
    "software_stamp",
]
