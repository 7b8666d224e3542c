"""A machine that polars has no wheel for: history and tuning say so in one line, and everything else works."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar import cli, history
from tests.conftest import CHECKOUT
from tests.data.runs import nightly

#: What brings polars; a part of every sentence.
BRINGS = "pip install polars brings it where there is a wheel for this machine"
IMPORT_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, "checks")
import nearfar
for module in pkgutil.walk_packages(nearfar.__path__, "nearfar."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
import reframe_config
print("polars" in sys.modules)
"""


@pytest.fixture
def stub(tmp_path: Path) -> Path:
    """A folder for PYTHONPATH whose ``polars`` is not installed."""
    folder = tmp_path / "stub"
    folder.mkdir()
    (folder / "polars.py").write_text('raise ModuleNotFoundError("No module named \'polars\'", name="polars")\n')
    return folder


def python(stub: Path | None, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = ":".join(map(str, filter(None, (stub, CHECKOUT))))
    return subprocess.run(
        [sys.executable, *words], cwd=CHECKOUT, env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_one_file_imports_it() -> None:
    found = set()
    for folder in ("nearfar", "checks"):
        for file in (CHECKOUT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
                if any(name.partition(".")[0] == "polars" for name in names):
                    found.add(str(file.relative_to(CHECKOUT)))
    assert found == {"nearfar/history/lazy_polars.py"}


@pytest.mark.parametrize("missing", [True, False])
def test_no_import_of_the_package_needs_or_loads_it(stub: Path, missing: bool) -> None:
    done = python(stub if missing else None, "-c", IMPORT_ALL)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_says_what_it_does(stub: Path, command: str) -> None:
    done = python(stub, "-m", "nearfar", command, "--help")
    assert (done.returncode, done.stderr) == (0, "") and "usage:" in done.stdout


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["history"], "no history can be read or written"),
        (["history", "--record", "run"], "no history can be read or written"),
        (["history", "--compact"], "no history can be read or written"),
        (["tune", "--system", "redwood"], "no reference can be tuned, because no history can be read"),
    ],
)
def test_history_and_tuning_say_so(stub: Path, words: list[str], sentence: str) -> None:
    done = python(stub, "-m", "nearfar", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"nearfar: {sentence}: polars is not installed; {BRINGS}\n"


def test_a_polars_that_is_broken_is_told_apart(stub: Path) -> None:
    (stub / "polars.py").write_text('raise ImportError("its library is of another machine")\n')
    done = python(stub, "-m", "nearfar", "history")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "polars cannot be imported (its library is of another machine); " in done.stderr


def test_a_room_that_asks_for_rows_gets_a_users_error(stub: Path, tmp_path: Path) -> None:
    """Not only the commands: what compares with a node's past catches it."""
    kept = history.record(nightly.run(tmp_path / "reports", {"gpu001": 1.0}), tmp_path / "history")
    done = python(
        stub, "-c",
        "from types import SimpleNamespace\nfrom nearfar import history\nfrom nearfar.base import NearfarError\n"
        "try:\n    history.NodeHistory().of(SimpleNamespace(system='redwood', node='gpu001'), {})\n"
        "except NearfarError as error:\n    print(error)",
        NEARFAR_HISTORY=str(kept),
    )  # fmt: skip
    assert done.stdout == f"polars is not installed; {BRINGS}\n", done.stderr


def test_pages_and_lint_work(stub: Path, tmp_path: Path) -> None:
    run = nightly.run(tmp_path / "reports", {"gpu001": 1.0})
    done = python(stub, "-m", "nearfar", "report", str(run))
    assert done.returncode == 0 and (run / "index.html").exists(), done.stderr
    assert "polars" not in done.stdout + done.stderr
    lint = python(stub, "-m", "nearfar", "lint")
    assert lint.returncode == 0 and "polars" not in lint.stdout + lint.stderr, lint.stderr
