"""A stand-in for the ``spack`` program: answers what a test tells it to. Nothing of Spack is in it."""

from __future__ import annotations

import json
from pathlib import Path

_SCRIPT = """\
#!/bin/sh
# A fake: for tests of what nearfar asks of Spack, and of what it says about one that is old, broken or cannot fetch.
root={root}
echo "$*" >> "$root/calls"
case "$*" in
--version) {version} ;;
{cases}
*) echo "==> Error: the fake spack knows no '$*'" >&2; exit 1 ;;
esac
"""
#: What Spack solves the environment into here: two packages to build, and an MPI of the system's.
LOCK = {
    "_meta": {"file-type": "spack-lockfile", "lockfile-version": 6},
    "spack": {"version": "1.1.0", "type": "release"},
    "roots": [{"hash": "aaa", "spec": "nearfar@main+mpi~cuda"}, {"hash": "bbb", "spec": "mpi"}],
    "concrete_specs": {
        "aaa": {
            "name": "nearfar",
            "version": "main",
            "dependencies": [{"name": "openmpi", "hash": "bbb", "parameters": {"virtuals": ["mpi"]}}],
        },
        "bbb": {"name": "openmpi", "version": "4.1.4", "external": {"path": "/usr", "module": None}},
        "ccc": {"name": "compiler-wrapper", "version": "1.1.0"},
    },
}
#: Detects what is in ROOT/found, solves into ROOT/lock, fetches and installs by the shell lines in ROOT/fetch and
#: ROOT/install.
CASES = """\
'external find --scope user --not-buildable'*) cp "$root/found" "$SPACK_USER_CONFIG_PATH/packages.yaml" ;;
'compiler find'* | 'external find'*) ;;
'config get packages') cat "$SPACK_USER_CONFIG_PATH/packages.yaml" ;;
'-e '*' concretize') cp "$root/lock" "$2/spack.lock"; echo "# compilers" >> "$2/spack.yaml" ;;
'-e '*' fetch --missing') [ ! -e "$root/fetch" ] || . "$root/fetch" ;;
'-e '*' install --only-concrete') . "$root/install" ;;
"""


def fake_spack(root: Path, version: str = 'echo "1.1.0"', cases: str = "") -> Path:
    """Write ``root``/bin/spack; returns ``root``. ``version``: the shell line that answers ``--version``; ``cases``: more
    lines of the shell's ``case``. What it was asked is in ``root``/calls."""
    program = root / "bin" / "spack"
    program.parent.mkdir(parents=True)
    program.write_text(_SCRIPT.format(root=root, version=version, cases=cases), encoding="utf-8")
    program.chmod(0o755)
    (root / "lock").write_text(json.dumps(LOCK), encoding="utf-8")
    return root


def calls(root: Path) -> list[str]:
    """What the fake was asked, one command line each."""
    file = root / "calls"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
