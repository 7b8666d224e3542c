"""What ``setup/release`` makes: whole, and its wheel works in an empty environment, called by its path, as ``pipx run`` does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import CHECKOUT, good, needs_network, run

pytestmark = pytest.mark.install
Nearfar = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release."""
    needs_network()
    place = tmp_path_factory.mktemp("release")
    good(run("git", "clone", "-q", CHECKOUT, place / "source"))
    good(run(place / "source/setup/release", "--home", "https://example.org/nearfar", place / "made"))
    return place / "made"


@pytest.fixture(scope="module")
def nearfar(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Nearfar:
    """Runs the installed command in an empty directory with an empty HOME."""
    place = tmp_path_factory.mktemp("wheel")
    venv.create(place / "venv", with_pip=True)
    good(run(place / "venv/bin/python", "-m", "pip", "install", "-q", *release.glob("nearfar-*.whl")))
    (place / "empty").mkdir()
    (place / "home").mkdir()
    return lambda *words: run(place / "venv/bin/nearfar", *words, cwd=place / "empty", HOME=place / "home")


def test_a_release_is_whole_and_names_what_it_brings(release: Path) -> None:
    good(run("sha256sum", "-c", "--quiet", "SHA256SUMS", cwd=release))
    assert len(list(release.iterdir())) == 6
    bill = json.loads(next(release.glob("*.cdx.json")).read_text())
    locked = re.findall(r"(?m)^([\w.-]+)==", (CHECKOUT / "setup/locks/base.txt").read_text())
    assert {part["name"] for part in bill["components"]} == set(locked)
    collection = good(run("tar", "tzf", *release.glob("nearfar-validation-*.tar.gz")))
    assert {"LICENSE", "CHANGELOG.md", "README.md"} <= set(collection.split())
    manifest = good(run("tar", "xzOf", *release.glob("nearfar-validation-*.tar.gz"), "MANIFEST.json"))
    assert json.loads(manifest)["collection_info"]["repository"] == "https://example.org/nearfar"
    source = next(path for path in release.glob("nearfar-*.tar.gz") if "validation" not in path.name)
    assert "/validate\n" in good(run("tar", "tzf", source))


@pytest.mark.parametrize(
    "words",
    ["predict --node summit", "bind --for slurm --node summit", "lint", f"detect --xml {CHECKOUT}/site/nodes/summit.xml"],
    ids=lambda words: words.split()[0],
)  # fmt: skip
def test_what_needs_no_gpu_works(nearfar: Nearfar, words: str) -> None:
    assert good(nearfar(*words.split()))


def test_documents_are_diagnosed_and_a_run_is_shown(nearfar: Nearfar, tmp_path: Path) -> None:
    for name, fault in {"well": (), "ill": ("--degrade", "g2.d2h=0.5")}.items():
        (tmp_path / f"{name}.json").write_text(good(nearfar("predict", "--node", "summit", "--json", *fault)))
    done = nearfar("diagnose", "--node", "summit", "--json", tmp_path / "ill.json", "--healthy", tmp_path / "well.json")
    assert done.returncode == 1 and "g2.d2h" in done.stdout, done.stderr
    subprocess.run([sys.executable, "-m", "tests.data.runs.small", tmp_path / "run"], cwd=CHECKOUT, check=True)
    assert Path(good(nearfar("report", tmp_path / "run")).strip()).is_file()
    assert json.loads((tmp_path / "run/report.json").read_text())


def test_validate_wants_a_checkout(nearfar: Nearfar) -> None:
    done = nearfar("validate")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "checkout" in done.stderr, done.stderr
