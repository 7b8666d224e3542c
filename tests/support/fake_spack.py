"""A stand-in for the ``spack`` program: answers what a test tells it to. Nothing of Spack is in it."""

from __future__ import annotations

from pathlib import Path

_SCRIPT = """\
#!/bin/sh
# A fake: for tests of what nearfar says about a Spack that is old, broken, or without its solver.
echo "$*" >> "{calls}"
case "$*" in
--version) {version} ;;
"python -c import clingo") exit {clingo} ;;
"bootstrap now") echo "==> Error: cannot bootstrap 'clingo' from any of the sources" >&2; exit 1 ;;
{cases}
*) echo "==> Error: the fake spack knows no '$*'" >&2; exit 1 ;;
esac
"""


def fake_spack(root: Path, version: str = 'echo "1.1.0"', clingo: bool = True, cases: str = "") -> Path:
    """Write ``root``/bin/spack; returns ``root``. ``version``: the shell line that answers ``--version``; ``cases``: more
    lines of the shell's ``case``. What it was asked is in ``root``/calls."""
    program = root / "bin" / "spack"
    program.parent.mkdir(parents=True)
    text = _SCRIPT.format(calls=root / "calls", version=version, clingo=0 if clingo else 1, cases=cases)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return root


def calls(root: Path) -> list[str]:
    """What the fake was asked, one command line each."""
    file = root / "calls"
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []
