"""Running lstopo: where it is, how old it is, the XML that it prints."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping

from nearfar.base import CouldNotJudge, NearfarError, process

_INSTALL = "apt-get install hwloc | dnf install hwloc | zypper install hwloc | spack install hwloc"
#: Seconds: on a node whose driver is starting, discovery can be slow.
_LIMIT = 60.0
#: The variables by which hwloc takes another machine than this one.
_STORED = ("HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT", "HWLOC_CPUID_PATH")
#: Left out of the discovery: what they add is read elsewhere, and starting CUDA or OpenCL costs a second or more.
_NOT_NEEDED = "-gl,-opencl,-levelzero,-rsmi,-cuda,-nvml"


def lstopo_program() -> str:
    """The path of lstopo, preferably the one without graphics."""
    program = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if program is None:
        raise NearfarError(f"hwloc is missing (no lstopo on the PATH); install version 2 or later: {_INSTALL}")
    return program


def hwloc_version() -> str:
    """The version of hwloc (``2.9.0``); raises ``NearfarError`` when it is missing or older than 2."""
    answer = process.run([lstopo_program(), "--version"], _LIMIT)
    match = re.search(r"(\d+)\.\d\S*", answer.stdout)
    if not match:
        raise CouldNotJudge(
            f"lstopo --version prints '{answer.stdout.strip()[:60]}', not a version; reinstall: {_INSTALL}"
        )
    if int(match[1]) < 2:
        raise NearfarError(f"hwloc {match[0]} is too old: version 2 or later is needed; install it: {_INSTALL}")
    return match[0]


def describes_another_machine(environment: Mapping[str, str]) -> bool:
    """Whether the environment gives hwloc a stored or synthetic machine in place of this one."""
    stored = any(environment.get(name) for name in _STORED)
    return stored and environment.get("HWLOC_THISSYSTEM") != "1"


def lstopo_xml(environment: Mapping[str, str] | None = None) -> str:
    """What ``lstopo`` finds on this machine, as XML: all I/O, and all that a cpuset disallows.

    Disallowed parts are included (and marked by hwloc) so that a container or a cgroup renumbers nothing and hides no
    locality. ``HWLOC_XMLFILE`` is honoured by lstopo itself.
    """
    env = dict(os.environ if environment is None else environment)
    if not any(env.get(name) for name in _STORED):
        # Set beside HWLOC_XMLFILE, it would make hwloc ignore that.
        env.setdefault("HWLOC_COMPONENTS", _NOT_NEEDED)
    command = [lstopo_program(), "--of", "xml", "--whole-io", "--disallowed", "-"]
    answer = process.run(command, _LIMIT, env=env)
    if answer.timed_out:
        raise CouldNotJudge(f"lstopo did not end within {_LIMIT:.0f} s; try: {' '.join(command)}")
    if answer.returncode or "<topology" not in answer.stdout:
        hwloc_version()  # An old hwloc does not know the options: that is the better thing to say.
        raise CouldNotJudge(f"lstopo failed ({answer.last_line or answer.returncode}); try: {' '.join(command)}")
    return answer.stdout
