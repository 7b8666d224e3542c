"""The rooms of `src/`: each includes only headers of itself and of those before it, and src/README.md names them all."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"
ORDER = [
    "core",
    "node",
    "cell",
    "memory",
    "engine",
    "output",
    "supervisor",
    "tasks",
    "gpu",
    "kernels",
    "copy",
    "mpi",
    "programs",
]
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def sources(room: str) -> list[Path]:
    return sorted(path for path in (SOURCES / room).rglob("*") if path.suffix in (".cpp", ".h", ".cu"))


def test_each_room_includes_only_earlier_ones() -> None:
    wrong = []
    for position, room in enumerate(ORDER):
        for source in sources(room):
            for header in INCLUDE.findall(source.read_text()):
                other, _, name = header.partition("/")
                if not name or not (SOURCES / header).is_file():
                    wrong.append(f"{source.relative_to(SOURCES)}: {header} is not ROOM/NAME of a header that exists")
                elif other not in ORDER[: position + 1]:
                    wrong.append(f"{source.relative_to(SOURCES)}: {room} stands before {other}, and includes {header}")
    assert not wrong, "\n".join(wrong)


def test_no_folder_is_left_out() -> None:
    others = {"cmake", "spack_repo", "tests"}
    assert {path.name for path in SOURCES.iterdir() if path.is_dir()} == {*ORDER, *others}
    assert {path.name for path in (SOURCES / "tests").iterdir() if path.is_dir()} <= {*ORDER, "emulated_cuda"}


def test_the_readme_names_the_rooms_in_order() -> None:
    assert re.findall(r"^\| `(\w+)/`", (SOURCES / "README.md").read_text(), re.M) == ORDER
