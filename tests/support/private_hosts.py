"""Machines to be reached by SSH, all on this one: each a real sshd in namespaces of its own over a copy of a root directory.

What a host writes lies in memory over the directory (an overlay), and is gone with it. Hosts share the network: each has a port of
its own on 127.0.0.1. Needs root. ``NEARFAR_TEST_SSHD`` names a directory that Debian's openssh-server was unpacked into, where the
machine has none; ``NEARFAR_TEST_ANSIBLE`` the bin directory with ansible-playbook. ``setup/ansible_for_tests`` brings both.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

SSHD, ANSIBLE = "NEARFAR_TEST_SSHD", "NEARFAR_TEST_ANSIBLE"
CHECKOUT = Path(__file__).resolve().parents[2]
_STATE = Path(os.environ.get("NEARFAR_STATE") or CHECKOUT)

_CONFIGURATION = """
Port {port}
ListenAddress 127.0.0.1
HostKey /etc/ssh/private_host_key
AuthorizedKeysFile /etc/ssh/private_authorized
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
Subsystem sftp /usr/lib/openssh/sftp-server
# What measures on one host keeps no other from it; its tools are those of this machine.
SetEnv NEARFAR_NODE_PART={name} NEARFAR_CUDA_ARCH={architectures} PATH={path}
"""
#: $1 the work directory, $2 the root, $3 the host's name; the rest is done once the host is put together.
_START = """
set -e
hostname "$3"
mount -t tmpfs -o mode=755 none "$1/memory"
mkdir "$1/memory/upper" "$1/memory/work" "$1/memory/root"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/memory/upper,workdir=$1/memory/work" "$1/memory/root"
cd "$1/memory/root"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mkdir -p run/sshd etc/ssh root
cp -a "$1/files/." .
chown -R 0:0 etc/ssh/private_* usr/sbin/sshd
grep -q '^sshd:' etc/passwd || echo 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin' >>etc/passwd
echo "$3" >etc/hostname
cp /etc/resolv.conf etc/resolv.conf 2>/dev/null || true
"""


def sshd() -> Path | None:
    """The directory that has usr/sbin/sshd; None where there is none."""
    places = [os.environ.get(SSHD) or _STATE / "build" / "ansible" / "sshd", "/"]
    return next((Path(place) for place in places if Path(place, "usr/sbin/sshd").exists()), None)


def ansible() -> Path | None:
    """The directory that has ansible-playbook; None where there is none."""
    for place in (os.environ.get(ANSIBLE), _STATE / "build" / "ansible" / "venv" / "bin"):
        if place and Path(place, "ansible-playbook").exists():
            return Path(place)
    found = shutil.which("ansible-playbook")
    return Path(found).parent if found else None


def missing() -> str | None:
    """What private hosts lack here, or None."""
    if os.geteuid() != 0:
        return "root"
    if shutil.which("ssh") is None:
        return "ssh"
    if sshd() is None or ansible() is None:
        return "sshd or ansible-playbook: setup/ansible_for_tests"
    return None


def _without_environment(path: str, more: str) -> str:
    """A PATH without this Python's virtual environment."""
    words = [word for word in f"{path}:{more}".split(":") if word and not word.startswith(sys.prefix)]
    return ":".join(word for word in dict.fromkeys(words) if Path(word).resolve() != Path(sys.prefix, "bin").resolve())


class PrivateHosts:
    """``with PrivateHosts(["n1", "n2"]) as hosts: hosts.play("site.yml")``.

    ``root``: the directory that hosts are copies of; ``before``, by host: shell commands in its root directory before sshd starts.
    """

    def __init__(
        self, names: Sequence[str], root: Path = Path("/"), before: Mapping[str, str] | None = None
    ) -> None:  # fmt: skip
        self.names, self.root, self.before = list(names), root, dict(before or {})
        self.folder = Path(tempfile.mkdtemp(prefix="nfhosts-"))
        self.ports: dict[str, int] = {}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> PrivateHosts:
        try:
            for key in ("host", "user"):
                subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True)
            for name in self.names:
                self._start(name)
            for name in self.names:
                self._wait(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._daemons):
            self.end(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def end(self, name: str) -> None:
        """A host is away: its sshd and all that runs in it are gone."""
        daemon = self._daemons.pop(name)
        os.killpg(daemon.pid, signal.SIGKILL)  # the first process of its namespace takes the others along
        daemon.wait()

    def inventory(self, *, more: str = "", groups: Mapping[str, Sequence[str]] | None = None) -> Path:
        """An inventory of all hosts; ``more`` are further lines."""
        lines = [f"{name} ansible_host=127.0.0.1 ansible_port={port}" for name, port in self.ports.items()]
        for group, names in (groups or {}).items():
            lines += [f"[{group}]", *names]
        options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=5 -o LogLevel=ERROR"
        lines += [
            "[all:vars]", "ansible_user=root", f"ansible_ssh_private_key_file={self.folder}/user",
            f"ansible_ssh_common_args='{options}'", "ansible_python_interpreter=/usr/bin/python3",
        ]  # fmt: skip
        path = self.folder / "hosts.ini"
        path.write_text("\n".join([*more.splitlines(), *lines, ""]))
        return path

    def on(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        """Run a shell command on a host."""
        options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        return subprocess.run(
            ["ssh", *options, "-i", str(self.folder / "user"), "-p", str(self.ports[name]), "root@127.0.0.1", command],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    def play(
        self, playbook: str | Path, *words: str, inventory: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ansible-playbook; both outputs together."""
        place = self.folder / "collections" / "ansible_collections" / "nearfar"
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "validation").exists():
            (place / "validation").symlink_to(CHECKOUT / "ansible")
        tools = ansible()
        assert tools is not None
        environment = {
            **{name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")},
            "PATH": f"{tools}:{os.environ['PATH']}", "ANSIBLE_COLLECTIONS_PATH": str(self.folder / "collections"),
            "ANSIBLE_HOME": str(self.folder / "ansible"), "ANSIBLE_NOCOLOR": "1", "XDG_CACHE_HOME": str(self.folder / "cache"),
            "ANSIBLE_SSH_PIPELINING": "1", "ANSIBLE_LOCALHOST_WARNING": "0", "ANSIBLE_INVENTORY_UNPARSED_WARNING": "0",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.folder / "cp"), "LC_ALL": "C.UTF-8",
        }  # fmt: skip
        return subprocess.run(
            [tools / "ansible-playbook", "-i", str(inventory or self.inventory()), str(playbook), *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, env=environment, cwd=self.folder,
        )  # fmt: skip

    def _start(self, name: str) -> None:
        work, packed = self.folder / name, sshd()
        assert packed is not None
        files = work / "files"
        (work / "memory").mkdir(parents=True)
        (files / "etc/ssh").mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.ports[name] = free.getsockname()[1]
        usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        path = usual if self.root != Path("/") else _without_environment(os.environ["PATH"], usual)
        architectures = os.environ.get("NEARFAR_CUDA_ARCH", "")
        text = _CONFIGURATION.format(port=self.ports[name], name=name, path=path, architectures=architectures)
        (files / "etc/ssh/private.conf").write_text(text)
        shutil.copy(self.folder / "host", files / "etc/ssh/private_host_key")
        shutil.copy(self.folder / "user.pub", files / "etc/ssh/private_authorized")
        for path in ("usr/sbin/sshd", "usr/lib/openssh/sftp-server"):
            (files / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(packed / path, files / path)
        for library in (packed / "usr/lib").glob("*/libwrap.so.0*") if packed != Path("/") else ():
            (files / library.relative_to(packed)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, files / library.relative_to(packed))
        script = f"{_START}\n{self.before.get(name, '')}\nexec chroot . /usr/sbin/sshd -D -e -f /etc/ssh/private.conf"
        command = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh"]
        with open(work / "sshd.log", "wb") as log:
            self._daemons[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command, str(work), str(self.root), name],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
            )  # fmt: skip

    def _wait(self, name: str) -> None:
        end = time.monotonic() + 60
        while self.on(name, "true").returncode != 0:
            log = (self.folder / name / "sshd.log").read_text(errors="replace")
            assert self._daemons[name].poll() is None and time.monotonic() < end, f"{name}: no sshd: {shlex.quote(log)}"
            time.sleep(0.1)
