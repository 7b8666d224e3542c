"""What this machine is: lstopo, NVML and sysfs put together into one ``Node``, and the software stamp."""

from nearfar.inventory.lstopo import hwloc_version, lstopo_xml
from nearfar.inventory.observation import observe, software_stamp
from nearfar.inventory.sysfs import gpu_pci_devices

__all__ = ["gpu_pci_devices", "hwloc_version", "lstopo_xml", "observe", "software_stamp"]
