"""A source mirror of what Spack would build, made where there is a network and used where there is none."""

from __future__ import annotations

import re
from pathlib import Path

from nearfar.base import CouldNotJudge

from .failures import failed
from .found import Spack
from .installed import InstallPlan

#: Built from the checkout, wherever that is; Spack 1.1 cannot mirror what it develops.
OWN = "nearfar"


def create(spack: Spack, plan: InstallPlan, directory: Path) -> list[Path]:
    """Fetch the sources of every package of a plan that is not external into ``directory``; returns the archives there.

    Raises ``CouldNotJudge`` where one cannot be fetched: half a mirror would be found out too late.
    """
    arguments = ["mirror", "create", "--all", "--exclude-specs", OWN, "--directory", str(directory)]
    done = spack.run(["-e", str(plan.folder), *arguments], None)
    output = done.stdout + done.stderr
    if done.returncode != 0:
        lost = re.search(r"failed to fetch\.\s+(.*?)(?===>|\Z)", output, re.DOTALL)
        if lost is not None and lost[1].strip():
            raise CouldNotJudge(f"{directory}: the mirror is not complete; not fetched: {', '.join(lost[1].split())}")
        raise failed(f"{directory}: the mirror is not complete", output)
    return sorted(path for path in directory.rglob("_source-cache/**/*") if path.is_file())
