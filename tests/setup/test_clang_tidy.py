"""clang-tidy looks at what changed since it was clean, and at nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "setup"))

import clang_tidy  # noqa: E402

#: Notes the sources that it is given, and finds something in those with the word ``wrong``.
FAKE = """#!/bin/sh
[ "$1" = --version ] && echo 18 && exit 0
for source; do :; done
echo "$(basename "$source")" >>{calls}
grep -H wrong "$source" && exit 1
exit 0
"""


class Checkout:
    """Two sources, a header of the one and a header of that, and a stand-in for clang-tidy."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room, self.calls, self.build = folder / "src/copy", folder / "calls", folder / "build"
        for place in (self.room, self.build, folder / "bin"):
            place.mkdir(parents=True)
        self.configuration = folder / ".clang-tidy"
        self.configuration.write_text("Checks: bugprone-*\n")
        for name, text in {
            "a.cpp": '#include "copy/a.h"\n', "a.h": '#include "deep.h"\n', "deep.h": "", "b.cpp": "#include <cmath>\n"
        }.items():  # fmt: skip
            (self.room / name).write_text(text)
        self.commands("-O3")
        fake = folder / "bin/clang-tidy"
        fake.write_text(FAKE.format(calls=self.calls))
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
        monkeypatch.setattr(clang_tidy, "CHECKOUT", folder)
        monkeypatch.setattr(clang_tidy, "SOURCES", folder / "src")
        monkeypatch.setattr(sys, "argv", ["clang_tidy.py", str(self.build)])

    def commands(self, options: str) -> None:
        entries = [
            {"file": str(self.room / name), "command": f"c++ {options} -c {name}"} for name in ("a.cpp", "b.cpp")
        ]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

    def looked_at(self, *options: str) -> tuple[int, list[str]]:
        """The exit code, and the sources that clang-tidy was given."""
        sys.argv[2:] = options
        code = clang_tidy.main()
        given = sorted(self.calls.read_text().split()) if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return code, given


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return Checkout(tmp_path, monkeypatch)


def test_what_is_clean_is_looked_at_once(checkout: Checkout) -> None:
    assert checkout.looked_at() == (0, ["a.cpp", "b.cpp"])
    assert checkout.looked_at() == (0, [])
    (checkout.room / "deep.h").write_text("int deep();\n")
    assert checkout.looked_at() == (0, ["a.cpp"]), "a header of its header changed"
    (checkout.room / "b.cpp").write_text("int b();\n")
    assert checkout.looked_at() == (0, ["b.cpp"])


def test_another_configuration_looks_at_everything(checkout: Checkout) -> None:
    checkout.looked_at()
    checkout.configuration.write_text("Checks: performance-*\n")
    assert checkout.looked_at() == (0, ["a.cpp", "b.cpp"])


def test_all_looks_at_what_is_listed_as_clean(checkout: Checkout) -> None:
    checkout.looked_at()
    assert checkout.looked_at("--all") == (0, ["a.cpp", "b.cpp"])


def test_what_is_wrong_is_told_until_it_is_right(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout.room / "b.cpp").write_text("wrong\n")
    assert checkout.looked_at() == (1, ["a.cpp", "b.cpp"])
    assert "b.cpp:wrong" in capsys.readouterr().out
    assert checkout.looked_at() == (1, ["b.cpp"])
    (checkout.room / "b.cpp").write_text("int b();\n")
    assert checkout.looked_at() == (0, ["b.cpp"])


def test_a_build_without_our_sources_is_an_error(checkout: Checkout) -> None:
    (checkout.build / "compile_commands.json").write_text("[]")
    assert checkout.looked_at() == (1, [])
