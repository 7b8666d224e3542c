"""Exit 1, with a line for each, where this Python lacks what pyproject.toml's dependencies ask for, or the extras that are named."""

import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def requirements(*lists: str) -> "list[str]":
    """The requirements in these lists of pyproject.toml: ``dependencies``, or an extra's name."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text()
    blocks = [re.search(rf"^{name} = \[(.*?)^\]", text, re.M | re.S) for name in lists]
    return [line for block in blocks if block for line in re.findall(r'^ +"([^"]+)"', block[1], re.M)]


def complaint(requirement: str) -> str:
    """Why this Python does not meet a requirement; the empty string when it does."""
    name, conditions = re.match(r"([\w.-]+)([^;]*)", requirement).groups()  # type: ignore[union-attr]
    try:
        present = version(name)
    except PackageNotFoundError:
        return f"{name} is not installed"
    have, *bounds = ([int(part) for part in re.findall(r"\d+", text)] for text in (present, *conditions.split(",")))
    for condition, want in zip(conditions.split(","), bounds):
        meets = {"<": have < want, ">": have >= want, "=": have == want}
        if not meets[condition.strip()[0]]:
            return f"{name} {present} is installed, {conditions.strip()} is needed"
    return ""


if __name__ == "__main__":
    complaints = list(filter(None, map(complaint, requirements("dependencies", *sys.argv[1:]))))
    sys.stderr.writelines(f"{line}\n" for line in complaints)
    sys.exit(bool(complaints) or sys.version_info < (3, 10))
