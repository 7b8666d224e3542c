"""The command line: help, one-line errors, exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.commands import schema, slurm
from nearfar.commands.command_line import HelpFormatter
from tests.conftest import CHECKOUT


def nearfar(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), **environment}
    return subprocess.run(
        [sys.executable, "-m", "nearfar", *words], env=env, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    "words",
    [*((name,) for name in sorted(cli.COMMANDS)), *(("slurm", name) for name in sorted(slurm.COMMANDS))],
    ids=" ".join,
)
def test_help_has_a_sentence_and_whole_examples(words: tuple[str, ...]) -> None:
    """At 80 columns a command of an example is one line, however long; what stands below it is no command."""
    done = nearfar(*words, "--help", COLUMNS="80")
    sentence = done.stdout.split("\n\n")[1]
    assert done.returncode == 0 and sentence.endswith(".") and not sentence.startswith("positional"), done.stdout
    examples = re.search(r"^examples:\n((?: .+\n)+)", done.stdout, re.M)
    assert examples and " ".join(words) in examples[1], done.stdout
    assert not re.search(r"\n {3,}--", examples[1]), "an option below its command"
    shown = done.stdout.split("\n\n", 1)[1]
    assert [line for line in shown.splitlines() if len(line) > 80 and not re.match(r"  \S", line)] == []
    assert (
        words[:2] == ("slurm",)
        or words[0] not in ("slurm", "tune", "cost", "diagnose", "validate")
        or "\nexit codes: 0 " in done.stdout
    )


def test_help_joins_lines_and_leaves_examples_alone() -> None:
    text = "One sentence that\ngoes on.\n\nexamples:\n  command --option    what it does\n\nexit codes: 0 good,\n1 bad"
    shown = HelpFormatter("x", width=32)._fill_text(text, 32, "")
    assert shown == (
        "One sentence that goes on.\n\nexamples:\n  command --option\n        what it does\n\nexit codes: 0 good, 1 bad"
    )


def test_help_of_slurm_names_every_command() -> None:
    shown = nearfar("slurm", "--help").stdout
    assert all(re.search(rf"\n    {command}\s", shown) for command in slurm.COMMANDS)


@pytest.mark.parametrize("command", slurm.NEED_SLURM)
def test_without_slurm_nothing_else_is_said(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert cli.main(["slurm", command, *(["n1"] if command in ("clear", "retest") else [])]) == 2
    said = capsys.readouterr().err
    assert said.startswith("nearfar: no Slurm here: ") and said.count("\n") == 1


def test_help_groups_commands_behind_the_first_five() -> None:
    shown = nearfar("--help").stdout
    sections = {title: re.findall(r"^  ([a-z]+)\s", lines, re.M)
                for title, lines in re.findall(r"^([a-z ]+):\n((?: .*\n)+)", shown, re.M)}  # fmt: skip
    first = sections.pop("start with")
    assert len(first) == 5 and shown.index("start with:") < shown.index("\nmeasure:")
    assert {title: sections[title] for title in cli.GROUPS} == {
        title: list(group) for title, group in cli.GROUPS.items()
    }
    assert set(first) < set(cli.COMMANDS) and len(cli.COMMANDS) == sum(map(len, cli.GROUPS.values()))


@pytest.mark.parametrize(
    "line, offered",
    [
        ("nearfar pre", "predict"),
        ("nearfar predict --no", "--node"),
        ("nearfar predict --node kee", "keeneland"),
        ("nearfar validate --system sum", "summit"),
        ("nearfar validate --check host_", "host_device_check"),
        ("nearfar cost --application gro", "gromacs"),
        ("nearfar slurm he", "health"),
        ("nearfar slurm sweep --dead", "--deadline"),
        ("nearfar slurm sweep --level acc", "accept"),
        ("nearfar lint pyproj", "pyproject.toml"),
    ],
)
def test_the_shell_is_told_what_may_follow(line: str, offered: str, tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    said = tmp_path / "said"
    nearfar(_ARGCOMPLETE="1", COMP_LINE=line, COMP_POINT=str(len(line)), _ARGCOMPLETE_STDOUT_FILENAME=str(said))
    assert offered in said.read_text().replace("\013", " ").split()


def test_the_documented_line_switches_completion_on_in_bash(tmp_path: Path) -> None:
    """Bash asks nearfar as it does at a press of the tab key."""
    pytest.importorskip("argcomplete")
    command = tmp_path / "nearfar"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={CHECKOUT} exec {sys.executable} -m nearfar "$@"\n')
    command.chmod(0o755)
    page = (CHECKOUT / "docs" / "reference" / "commands.md").read_text()
    (line,) = re.findall(r'^ *(eval "\$\(register-python-argcomplete nearfar\)")', page, flags=re.M)
    script = (
        f"{line}\nCOMP_WORDS=(nearfar bind --node kee) COMP_CWORD=3 COMP_LINE='nearfar bind --node kee' COMP_POINT=23 COMP_TYPE=9\n"
        "$(complete -p nearfar | sed 's/.*-F \\([^ ]*\\).*/\\1/') nearfar kee --node\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=60
    )
    assert "keeneland" in done.stdout.split(), done.stderr


@pytest.mark.parametrize("words", [(), ("no-such-command",), ("validate", "--no-such-option"), ("schema", "nothing")])
def test_wrong_use_exits_2(words: tuple[str, ...]) -> None:
    done = nearfar(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "error, code", [(NearfarError("fix it"), 2), (CouldNotJudge("wait"), 3), (KeyboardInterrupt(), 130)]
)
def test_errors_are_one_line(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(schema, "run", fail)
    assert cli.main(["schema", "system"]) == code
    assert capsys.readouterr().err.startswith("nearfar: ")


def test_without_a_name_the_schemas_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == 0
    listed = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert list(listed) == sorted(schema.SCHEMAS), "each with a line of its own"
    assert "site/systems/NAME.yaml" in listed["system"] and "status --json" in listed["status"]


@pytest.mark.parametrize("name", sorted(schema.SCHEMAS))
def test_schemas_are_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema", name]) == 0
    assert json.loads(capsys.readouterr().out)["title"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = f"{sys.executable} -m nearfar schema system | head -n 1; echo ${{PIPESTATUS[0]}}"
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def test_validate_list_runs_nothing(tmp_path: object) -> None:
    done = nearfar("validate", "--system", "summit", "--list", NEARFAR_STATE=str(tmp_path))
    assert "host_memory_check @summit:gpu+modelled (modelled)" in done.stdout
    assert os.listdir(str(tmp_path)) == []


def test_only_an_acceptance_has_what_takes_long(tmp_path: Path) -> None:
    for words, times in (((), 0), (("--acceptance",), 1)):
        done = nearfar("validate", "--system", "h200-vm", "--list", *words, NEARFAR_STATE=str(tmp_path))
        assert done.stdout.count("burn_check @h200-vm:gpu") == times


def test_a_locale_without_the_character_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    with pytest.raises(SystemExit):
        cli.main(["tune", "--help"])
    print("−1.5 %", flush=True)
    assert written.getvalue().endswith(b"\\u22121.5 %\n")


def test_hints_name_the_command_as_this_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nearfar on the PATH a hint has the path of bin/nearfar; with it, it stays as it is."""
    text = (
        "no reference; nearfar tune --system a makes them (nearfar history --shifts); "
        "this nearfar reads bin/nearfar tune; ./validate makes one"
    )
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("PATH", str(tmp_path))
    told = cli.pasteable(text)
    assert "; bin/nearfar tune --system a" in told and "(bin/nearfar history" in told, told
    assert "this nearfar reads bin/nearfar tune; ./validate makes one" in told, told
    monkeypatch.chdir(tmp_path)
    told = cli.pasteable(text)
    assert f"; {CHECKOUT}/bin/nearfar tune" in told and f"; {CHECKOUT}/validate makes one" in told, told
    (tmp_path / "nearfar").write_text("#!/bin/sh\n")
    (tmp_path / "nearfar").chmod(0o755)
    assert cli.pasteable(text) == text.replace("./validate", f"{CHECKOUT}/validate")


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
def test_one_line_puts_the_commands_on_the_path(shell: str, tmp_path: Path) -> None:
    """``. ./activate`` in the checkout, or in bash by its path; twice changes nothing."""
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    words = '. ./activate; . ./activate; command -v nearfar; command -v reframe; echo "$PATH"'
    done = subprocess.run([shell, "-c", words], cwd=CHECKOUT, env=env, capture_output=True, text=True, timeout=60)
    found = done.stdout.splitlines()
    assert found == [f"{CHECKOUT}/bin/nearfar", f"{CHECKOUT}/bin/reframe",
                     f"{CHECKOUT}/bin:{CHECKOUT}/build/bin:/usr/bin:/bin"], done  # fmt: skip
    elsewhere = [shell, "-c", f". {CHECKOUT}/activate; command -v nearfar"]
    done = subprocess.run(elsewhere, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    if shell == "sh":  # it does not tell a sourced file where it lies
        assert done.stdout == "" and "cd into the checkout first" in done.stderr, done
    else:
        assert done.stdout == f"{CHECKOUT}/bin/nearfar\n", done


def test_the_tab_key_after_activate(tmp_path: Path) -> None:
    """In an interactive bash the commands are offered once ``activate`` was sourced."""
    pytest.importorskip("argcomplete")
    if not (CHECKOUT / ".venv/bin/register-python-argcomplete").exists():
        pytest.skip("the checkout has no .venv with argcomplete")
    script = """. ./activate
        COMP_WORDS=(nearfar det) COMP_CWORD=1 COMP_LINE='nearfar det' COMP_POINT=11 COMP_TYPE=9
        $(complete -p nearfar | sed 's/.*-F \\([^ ]*\\).*/\\1/') nearfar det nearfar; echo "offered: ${COMPREPLY[*]}"
    """
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}
    bash = ["bash", "--norc", "-i", "-c", script]
    done = subprocess.run(
        bash,
        cwd=CHECKOUT,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )
    assert "offered: detect" in done.stdout, done


def test_bin_nearfar_says_what_is_missing_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    shutil.copy(CHECKOUT / "bin/nearfar", tmp_path / "bin")
    (tmp_path / "setup").mkdir()
    shutil.copy(CHECKOUT / "setup/common.sh", tmp_path / "setup")
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([tmp_path / "bin/nearfar", "detect"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == f"nearfar: not set up yet: {tmp_path}/validate --setup-only\n", done
