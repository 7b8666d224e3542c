"""What nearfar needs of a Python, as pyproject.toml says: list it, check this Python, make nearfar importable.

Standard library only; this also runs under a Python that lacks everything.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
from importlib import metadata
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
OLDEST_PYTHON = (3, 10)


def requirements(*lists: str) -> list[str]:
    """The requirement strings of these lists of pyproject.toml: ``dependencies``, or an extra's name."""
    text = (CHECKOUT / "pyproject.toml").read_text()
    blocks = [re.search(rf"^{name} = \[(.*?)^\]", text, re.M | re.S) for name in lists]
    return [requirement for block in blocks if block for requirement in re.findall(r'"([^"]+)"', block[1])]


def without_polars(needed: list[str]) -> list[str]:
    """The same with what the installed ReFrame needs instead of ReFrame, which is there: its polars belongs to an extra."""
    others = [requirement for requirement in needed if not requirement.startswith("reframe-hpc")]
    return others + [one for one in metadata.requires("reframe-hpc") or [] if "extra" not in one]


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: '4.10.4rc1' is (4, 10, 4)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(word) for word in match[0].split(".")) if match else ()


def complaint(requirement: str) -> str:
    """Why this Python does not meet the requirement; the empty string when it does."""
    name, conditions = re.match(r"([\w.-]+)(.*)", requirement).groups()  # type: ignore[union-attr]
    try:
        present = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is not installed"
    for condition in filter(None, conditions.split(",")):
        operator, bound = re.match(r"([<>=]+)(.*)", condition).groups()  # type: ignore[union-attr]
        have, want = numbers(present), numbers(bound)
        if not {">=": have >= want, "<": have < want, "==": have == want}[operator]:
            return f"{name} {present} is installed, {conditions} is needed"
    return ""


def install_checkout() -> None:
    """Let this environment's ``import nearfar`` and command ``nearfar`` use the checkout, without a build step."""
    packages = Path(next(path for path in sys.path if path.endswith("site-packages")))
    (packages / "nearfar.pth").write_text(f"{CHECKOUT}\n")
    command = Path(sys.prefix) / "bin" / "nearfar"
    command.write_text(
        f"#!/bin/sh\n'''exec' \"{sys.prefix}/bin/python\" \"$0\" \"$@\"\n' '''\n"
        "import sys\n\nfrom nearfar.cli import main\n\nsys.exit(main())\n"
    )
    command.chmod(0o755)


def main() -> int:
    """Do one of --list, --check and --install-checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the requirements, one a line")
    parser.add_argument(
        "--without-polars", action="store_true", help="list, instead of the installed ReFrame, what it needs"
    )
    parser.add_argument("--list-optional", action="store_true", help="print those that nearfar can do without")
    parser.add_argument("--check", action="store_true", help="exit 1 and say why when this Python lacks one")
    parser.add_argument(
        "--install-checkout", action="store_true", help="make the checkout importable in this environment"
    )
    parser.add_argument("--test", action="store_true", help="with what the tests need")
    options = parser.parse_args()
    needed = requirements("dependencies", *(["test"] if options.test else []))
    if options.list:
        print(*(without_polars(needed) if options.without_polars else needed), sep="\n")
    if options.list_optional:
        print(*requirements("history"), sep="\n")
    if options.check:
        complaints = list(filter(None, map(complaint, needed)))
        print(*complaints, sep="\n", end="\n" if complaints else "", file=sys.stderr)
        return 1 if complaints or sys.version_info < OLDEST_PYTHON else 0
    if options.install_checkout:
        install_checkout()
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: no traceback; who called says so
    sys.exit(main())
