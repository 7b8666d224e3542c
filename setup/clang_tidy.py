"""Run clang-tidy over those C++ sources of a build that changed since it last found nothing wrong with them.

.clang-tidy-clean lists the sources without findings, each with a hash of its text, that of our files which it includes, .clang-tidy and the
version of clang-tidy. The file is part of the repository, so that a fresh clone checks only what differs. Exit code 1: findings.
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
CHECKED = re.compile(r"(?!tests/).*\.cpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def sources(build: Path) -> set[Path]:
    """The sources that are checked. Without an MPI some are not built, and left out."""
    files = {Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())}
    ours = {file for file in files if file.is_relative_to(SOURCES)}
    return {file for file in ours if CHECKED.fullmatch(file.relative_to(SOURCES).as_posix())}


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


def common_key() -> str:
    """What the findings in all sources depend on: clang-tidy's version and its configuration."""
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
    return json.dumps([version, (CHECKOUT / ".clang-tidy").read_text()])


def key(source: Path, common: str) -> str:
    """The hash of what clang-tidy's findings in a source depend on. Compilers and libraries differ between machines and are left out:
    ``--all`` checks every source with those at hand."""
    parts = [common]
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
    parser.add_argument("--all", action="store_true", help="check every source, also those that are listed as clean")
    options = parser.parse_args()
    common, record = common_key(), CHECKOUT / ".clang-tidy-clean"
    keys = {source: key(source, common) for source in sorted(sources(options.build))}
    if not keys:
        print(f"no C++ sources in {options.build}/compile_commands.json", file=sys.stderr)
        return 1
    listed = dict(line.split() for line in record.read_text().splitlines()) if record.exists() else {}
    names = {source: source.relative_to(SOURCES).as_posix() for source in keys}
    changed = [source for source in keys if options.all or listed.get(names[source]) != keys[source]]
    print(f"{len(changed)} of {len(keys)} sources changed since they were clean", flush=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = dict(zip(changed, pool.map(lambda source: findings(source, options.build), changed)))
    for text in filter(None, found.values()):
        print(text)
    left_out = {name: value for name, value in listed.items() if (SOURCES / name).exists()}  # by a build without MPI
    clean = {names[source]: keys[source] for source in keys if found.get(source) is None}
    faulty = {names[source] for source in keys if found.get(source) is not None}
    lines = sorted(f"{name} {value}\n" for name, value in {**left_out, **clean}.items() if name not in faulty)
    if changed and os.access(CHECKOUT, os.W_OK):
        record.write_text("".join(lines))
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: no traceback; who called says so
    sys.exit(main())
