"""./validate on Debian 11, 12 and 13 with nothing but their smallest system, in chroots."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import CHECKOUT, MODELLED, STORE, copy, good, run

pytestmark = pytest.mark.install
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
#: A mount namespace of its own: nothing stays mounted, whatever happens.
ENTER = 'root=$1; shift; mount -t proc proc "$root/proc"; mount --bind /dev "$root/dev"; exec chroot "$root" "$@"'


def debian(release: str) -> Path:
    """The chroot of a release, made once; skips the test where it cannot be."""
    if os.geteuid() or not shutil.which("debootstrap", path="/usr/sbin:/sbin"):
        pytest.skip("needs root and debootstrap (apt-get install debootstrap)")
    root = STORE / release
    if not (root / "ready").exists():
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        made = run("debootstrap", "--variant=minbase", release, root, MIRROR)
        if made.returncode:
            pytest.skip(f"no chroot of {release} from {MIRROR}: {(made.stdout + made.stderr).splitlines()[-1]}")
        shutil.copy("/etc/resolv.conf", root / "etc")
        if CERTIFICATES.exists():  # what this machine trusts: a site's proxy
            shutil.copy(CERTIFICATES, root / "certificates.crt")
        (root / "ready").touch()
    return root


def inside(root: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a shell's line in the copy of the checkout in a chroot."""
    trust = {
        name: "/certificates.crt" for name in ("PIP_CERT", "SSL_CERT_FILE") if (root / "certificates.crt").exists()
    }
    return run("unshare", "--mount", "--propagation", "private", "sh", "-euc", ENTER, "sh", root,
               "sh", "-c", f"cd /nearfar && {command}", **trust)  # fmt: skip


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
def test_debian_is_set_up_from_nothing(release: str) -> None:
    base = debian(release)
    decisive = sorted([*(CHECKOUT / "setup").rglob("*.txt"), CHECKOUT / "setup/common.sh"])
    key = hashlib.sha256(b"".join(path.read_bytes() for path in decisive)).hexdigest()[:12]
    root = STORE / f"{release}-{key}"  # where what is installed may have changed, from nothing
    if not root.exists():
        for old in STORE.glob(f"{release}-*"):
            shutil.rmtree(old)
        good(run("cp", "-a", base, root))
    copy(root / "nearfar")
    good(inside(root, "./validate --setup-only --cuda none"))
    good(inside(root, "./validate --is-set-up"))
    assert good(inside(root, "bin/nearfar --version")).startswith("nearfar ")
    good(inside(root, f"./validate --cuda none {' '.join(MODELLED)}"))


def test_debian_11_is_refused_before_anything_is_installed() -> None:
    root = debian("bullseye")
    copy(root / "nearfar")
    before, began = good(inside(root, "dpkg -l")), time.monotonic()
    done = inside(root, "./validate")
    assert done.returncode == 2 and "Python 3.10" in done.stderr and "Traceback" not in done.stderr
    assert time.monotonic() - began < 20
    assert good(inside(root, "dpkg -l")) == before
