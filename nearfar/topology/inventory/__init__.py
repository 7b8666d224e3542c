"""What this machine is: lstopo, NVML and sysfs put together into one ``Node``, and the software stamp; what its kernel logged.

Needs: base, topology.
"""

from . import kernel_lines
from .kernel_lines import Event, LogLine, Ring, told_of_gpus
from .lstopo import describes_another_machine, hwloc_version, lstopo_xml
from .observation import gpus_without_hwloc, observe
from .sysfs import cpu_models, gpu_pci_devices, gpus_not_measured
