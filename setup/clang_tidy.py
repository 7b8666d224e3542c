"""Run clang-tidy over those C++ sources of a build that changed since it last found nothing wrong with them.

What it says of a source depends on the source, what that includes of ours, its compile command, the versions of the build's tools,
.clang-tidy and clang-tidy itself: a hash of these is kept for each source that is clean. Exit code 1: it found something.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
SOURCES = CHECKOUT / "src"
#: What a C++ compiler alone can read.
LOOKED_AT = re.compile(r"(?!tests/).*\.cpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def commands(build: Path) -> dict[Path, str]:
    """The compile command of each source that is looked at. Without an MPI some are not built, and left out."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if source.is_relative_to(SOURCES) and LOOKED_AT.fullmatch(source.relative_to(SOURCES).as_posix()):
            found[source] = entry["command"]
    return found


def with_includes(source: Path) -> list[Path]:
    """The source and the files under src/ that it includes, directly or not."""
    found, left = set(), [source]
    while left:
        file = left.pop()
        if file not in found:
            found.add(file)
            near = [folder / name for name in INCLUDE.findall(file.read_text()) for folder in (file.parent, SOURCES)]
            left += [path.resolve() for path in near if path.is_file()]
    return sorted(found)


def common_key(build: Path) -> str:
    """What the findings in all sources depend on: clang-tidy, its configuration, the compiler and the libraries."""
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
    packages = json.loads((build / "made-with.json").read_text())["packages"]
    tools = [package for package in packages if package["name"] != "nearfar"]
    return json.dumps([version, tools, (CHECKOUT / ".clang-tidy").read_text()])


def key(source: Path, command: str, common: str) -> str:
    """The hash of all that clang-tidy's findings in a source depend on."""
    parts = [common, command.replace(str(CHECKOUT), "")]
    for file in with_includes(source):
        parts += [file.relative_to(SOURCES).as_posix(), file.read_text()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def findings(source: Path, build: Path) -> str | None:
    """What clang-tidy says of a source; None where it is clean."""
    words = ["clang-tidy", "--quiet", "-p", str(build), str(source)]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr if done.returncode else None


def main() -> int:
    """Look at what changed, print what was found, keep the hashes of what is clean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the build's folder, with compile_commands.json")
    parser.add_argument("--clean", type=Path, required=True, metavar="FILE", help="keeps the hashes of clean sources")
    options = parser.parse_args()
    common = common_key(options.build)
    keys = {source: key(source, command, common) for source, command in commands(options.build).items()}
    if not keys:
        print(f"no C++ sources in {options.build}/compile_commands.json", file=sys.stderr)
        return 1
    clean = set(options.clean.read_text().split()) if options.clean.exists() else set()
    changed = [source for source in keys if keys[source] not in clean]
    print(f"{len(changed)} of {len(keys)} sources changed since they were clean", flush=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = dict(zip(changed, pool.map(lambda source: findings(source, options.build), changed)))
    for text in filter(None, found.values()):
        print(text)
    options.clean.write_text("".join(f"{keys[source]}\n" for source in sorted(keys) if found.get(source) is None))
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: no traceback; who called says so
    sys.exit(main())
