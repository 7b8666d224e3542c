"""What Spack's output says when it fails, as one line with the way out."""

from __future__ import annotations

import re
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError

#: Patterns of Spack's messages and what is missing, the first that matches counts; ``{}`` is what the pattern's group found.
_MISSING = (
    (
        r"(spack-packages\.git)[^\n]*(?:failed|unable|not resolve)|(?:Failed to clone|unable to access)[^\n]*(spack-packages)"
        r"|No module named '(spack_repo\.builtin)",
        "Spack's package recipes ({}) are neither on this machine nor can they be fetched: name a checkout of them in a repos.yaml"
        " that Spack reads (`repos: {builtin: /its/repos/spack_repo/builtin}`)",
    ),
    (
        r"(?i)bootstrap[^\n]*(clingo)",
        "Spack cannot bring its solver {}: `pip install clingo` into a Python and name that in SPACK_PYTHON",
    ),
    (
        r"Cannot build (\S+), since it is configured `buildable:false` and no externals",
        "Spack knows no {} of this system, and may build none: `nearfar spack externals` finds it, or the site's packages.yaml names it",
    ),
    (
        r"ChecksumError[^\n]*?for (\S+)",
        "the source {} differs from the recipe's checksum; make the mirror again (docs/deploy.md)",
    ),
    (
        r"All fetchers failed for (?:spack-stage-)?(\S+?)(?:-[a-z0-9]{32})?(?:\s|$)",
        "Spack cannot fetch {}: without a network it needs a source mirror (docs/deploy.md)",
    ),
    (
        r"(No locks available|Errno 37)",
        "Spack cannot lock its install tree ({}), on NFS perhaps: put the tree elsewhere (NEARFAR_SPACK_TREE=/a/folder), or set"
        " `config: {locks: false}` in a config.yaml that Spack reads and run one installation at a time",
    ),
)
_FAILED = (
    (r"for the following reasons:\s+1\. ([^\n]+)", "{}"),
    (r"(?:Can't|Cannot) (?:take|create) [^\n]*?lock[^\n]*? (/\S+)", "{}: Spack may not write there"),
    (r"Error: (\S+?)-[a-z0-9]{32}: ProcessError|Failed to install (\S+) due to", "{} does not build"),
)


def failed(what: str, output: str, log: Path | None = None) -> NearfarError:
    """The user's error for a failed ``spack`` command: ``what`` it was to do, its whole output, and where that is kept.

    ``CouldNotJudge`` for all but what is missing on this machine.
    """
    build = re.search(r"See build log for details:\s+(/\S+)", output)
    kept = f" (log: {build[1] if build else log})" if build or log else ""
    for error_type, known in ((NearfarError, _MISSING), (CouldNotJudge, _FAILED)):
        for pattern, message in known:
            match = re.search(pattern, output)
            if match:
                return error_type(f"{what}: {message.replace('{}', match[match.lastindex or 0])}{kept}")
    errors = [line.removeprefix("==> ").strip() for line in output.splitlines() if line.startswith("==> Error")]
    last = errors[0] if errors else (output.strip().splitlines() or ["it printed nothing"])[-1]
    return CouldNotJudge(f"{what}: {last}{kept}")
