"""Reading a site's YAML files: rendered by Jinja2, checked against a schema, every complaint with file and line.

A file is rendered from itself and the environment (``{{ env.NAME }}``) alone, never from the machine that reads it:
an expectation taken from the node under test would always pass.
"""

from __future__ import annotations

import difflib
import errno
import json
import os
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from . import places
from .errors import NearfarError
from .schema_check import conforms, schema

Step = str | int

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SiteFileError(NearfarError):
    """What is wrong at one place of a site's file: its ``line`` (None: the file as a whole), ``where`` that is no line of
    the file as it stands (`` of the rendered text of NAME``; else empty), and the ``steps`` that lead to it."""

    def __init__(self, path: Path, line: int | None, words: str, where: str = "", steps: tuple[Step, ...] = ()) -> None:
        super().__init__(f"{path}: {words}" if line is None else f"{place_in(path, line, where)}: {words}")
        self.path = path
        self.line = line
        self.words = words
        self.where = where
        self.steps = steps


def place_in(path: Path, line: int, where: str = "") -> str:
    """``PATH:7``; of a line that is none of the file's own ``PATH: line 7 of the rendered text of NAME``."""
    return f"{path}: line {line}{where}" if where else f"{path}:{line}"


def site_directories(environ: Mapping[str, str] | None = None) -> list[Path]:
    """A site's own directories (``NEARFAR_SITE``, separated by ``:``) first, then the shipped ``site/``."""
    own = (os.environ if environ is None else environ).get("NEARFAR_SITE", "")
    directories = [Path(part).expanduser().absolute() for part in own.split(":") if part]
    for directory in directories:
        if not os.path.isdir(directory):  # Path.is_dir() raises where a directory above may not be entered
            raise NearfarError(f"NEARFAR_SITE: {directory} is not a directory; fix the variable or make the directory")
        if not os.access(directory, os.R_OK | os.X_OK):
            raise NearfarError(f"NEARFAR_SITE: {directory}: no permission to read it")
    return [*directories, places.SITE]


def own_site_directory() -> Path:
    """Where a site's new files go: the first directory of ``NEARFAR_SITE``, else the checkout's ``site/``. Raises ``NearfarError`` in an
    installed wheel, whose own files the next one replaces."""
    first = site_directories()[0]
    if first == places.SITE and places.CHECKOUT is None:
        raise NearfarError(
            f"{first} belongs to an installed package: NEARFAR_SITE=/a/folder sets where this site's files go"
        )
    return first


def site_files(subfolder: str, directories: list[Path]) -> dict[str, Path]:
    """The files of ``systems``, ``nodes`` or ``references`` by name; of two with one name the earlier directory's counts."""
    files: dict[str, Path] = {}
    for directory in directories:
        folder = directory / subfolder
        if os.path.isdir(folder) and not os.access(
            folder, os.R_OK | os.X_OK
        ):  # glob() would find nothing, and say nothing
            raise NearfarError(f"{folder}: no permission to read it")
        for path in sorted(folder.glob("*.yaml")):
            files.setdefault(path.stem, path)
    return files


def named_site_file(subfolder: str, name: str, directories: list[Path]) -> SiteFile:
    """The file of ``applications`` or ``orders`` with that name, or file name (``rack-8.yaml``). Raises ``NearfarError`` where there is
    none, with the nearest one and the directories that were searched."""
    known = site_files(subfolder, directories)
    name = name if name in known else name.removesuffix(".yaml")
    if name not in known:
        kind, nearest = subfolder.removesuffix("s"), did_you_mean(name, list(known))
        searched = ", ".join(str(directory / subfolder) for directory in directories)
        unset = (
            "" if os.environ.get("NEARFAR_SITE") else "; NEARFAR_SITE, which names a site's own directories, is not set"
        )
        raise NearfarError(f"no {kind} is called '{name}'{nearest}: searched for {name}.yaml in {searched}{unset}")
    return SiteFile(known[name])


class SiteFile:
    """One file: ``data`` as plain Python, and the line each part of it stands on."""

    def __init__(self, path: Path, environ: Mapping[str, str] | None = None) -> None:
        self.path = path
        self._sound: set[str] = set()
        self._lines: dict[int, dict[str, tuple[int, Any]]] = {}
        try:
            if path.exists() and not path.is_file():  # reading a FIFO would wait for ever
                raise OSError(errno.EINVAL, "not a regular file")
            source = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            message = f"cannot be read: {getattr(error, 'strerror', None) or error}"
            raise SiteFileError(path, None, message) from None
        text = _render(path, source, os.environ if environ is None else environ)
        self._template, self._rendered = source.split("\n"), text.split("\n")
        loader = _LOADER(text)
        try:
            self._root = loader.get_single_node()
            self._refuse_repeated_keys(self._root)
            self.data: Any = None if self._root is None else loader.construct_document(self._root)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark is not None else 1
            message = f"not YAML: {error.problem or error.context}"
            raise self._refusal(line, message) from None
        except yaml.YAMLError as error:
            character = yaml.reader.Reader.NON_PRINTABLE.search(text)  # the error's position is in bytes
            line = 1 if character is None else text.count("\n", 0, character.start()) + 1
            raise self._refusal(line, f"not YAML: {str(error).splitlines()[0]}") from None
        finally:
            loader.dispose()

    def line(self, *steps: Step) -> int:
        """The line (1-based) of the part that keys and positions lead to; of its last known ancestor where it is missing."""
        node = self._root
        line = 1 if node is None else node.start_mark.line + 1
        for step in steps:
            below = None
            if isinstance(node, yaml.MappingNode):
                line, below = self._keys(node).get(str(step), (line, None))
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                below = node.value[step]
                line = below.start_mark.line + 1
            if below is None:
                break
            node = below
        return line

    def _keys(self, node: yaml.MappingNode) -> dict[str, tuple[int, Any]]:
        """The line and the value of each key of a mapping, looked through once."""
        if id(node) not in self._lines:
            self._lines[id(node)] = {key.value: (key.start_mark.line + 1, value) for key, value in node.value}
        return self._lines[id(node)]

    def error(self, message: str, *steps: Step) -> SiteFileError:
        """A user's error that names this file and the line of the part that ``steps`` lead to."""
        return self._refusal(self.line(*steps), message, steps)

    def _refusal(self, line: int, message: str, steps: tuple[Step, ...] = ()) -> SiteFileError:
        """An error at a line of the rendered text: at the template's own line where that is the only one that reads so."""
        if len(self._template) == len(self._rendered):
            return SiteFileError(self.path, line, message, "", steps)
        # A loop makes the rendered text longer than the file.
        text = self._rendered[line - 1] if line <= len(self._rendered) else ""
        if text.strip() and self._rendered.count(text) == 1 == self._template.count(text):
            return SiteFileError(self.path, self._template.index(text) + 1, message, "", steps)
        return SiteFileError(self.path, line, message, f" of the rendered text of {self.path.name}", steps)

    def check(self, schema_name: str) -> None:
        """Check ``data`` against ``schemas/<schema_name>.json``; the first complaint is raised, with the nearest known key."""
        if problems := self.problems(schema_name):
            raise problems[0]

    def problems(self, schema_name: str) -> list[SiteFileError]:
        """All that ``schemas/<schema_name>.json`` complains of, in the order of lines; what is missing comes last."""
        errors: dict[str, SiteFileError] = {}
        if schema_name in self._sound or conforms(schema_name)(self.data):
            return []
        # By line; a missing key last: it is often there, misspelt.
        order = lambda each: (each.validator == "required", self.line(*each.absolute_path))  # noqa: E731
        for problem in sorted(validator(schema_name).iter_errors(self.data), key=order):
            steps = list(problem.absolute_path)
            place = ".".join(str(step) for step in steps)
            for message, more in _explain(problem):
                error = self.error(f"{place}: {message}" if place else message, *steps, *more)
                errors.setdefault(str(error), error)
        if not errors:
            self._sound.add(schema_name)
        return list(errors.values())

    def check_finite(self) -> None:
        """Refuse ``.nan`` and ``.inf`` anywhere in ``data``: no bound of a schema holds for them."""

        def check(data: Any, steps: tuple[Step, ...]) -> None:
            if isinstance(data, int | float) and not abs(data) < 1e100:
                raise self.error(f"{'.'.join(map(str, steps))}: expected a finite number, found {_shown(data)}", *steps)
            for step, value in (
                data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
            ):
                check(value, (*steps, step))

        check(self.data, ())

    def take_out(self, *steps: Step) -> bool:
        """Remove from ``data`` the last key on the way of ``steps``: never an item of a list, whose others keep their
        positions. False where there is nothing to remove."""
        data, place = self.data, None
        for step in steps:
            if isinstance(data, dict):
                key = next((key for key in data if str(key) == str(step)), None)
                if key is None:
                    return False  # it is gone already
                place, data = (data, key), data[key]
            elif isinstance(data, list) and isinstance(step, int) and step < len(data):
                data = data[step]
            else:
                break
        if place is None:
            return False
        del place[0][place[1]]
        self._sound.clear()
        return True

    def _refuse_repeated_keys(self, node: Any, above: tuple[int, ...] = ()) -> None:
        """Refuse a key that is there twice, and an alias to what it stands in."""
        if id(node) in above:
            line = node.start_mark.line + 1
            raise self._refusal(line, "an alias to the very part that holds it; write it out")
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if key.value in seen and key.value != "<<":
                    line = key.start_mark.line + 1
                    message = f"the key '{key.value}' is there twice; remove one"
                    raise self._refusal(line, message)
                seen.add(key.value)
                self._refuse_repeated_keys(value, (*above, id(node)))
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                self._refuse_repeated_keys(value, (*above, id(node)))


def _render(path: Path, source: str, environ: Mapping[str, str]) -> str:
    if not any(mark in source for mark in ("{{", "{%", "{#")):
        return source
    import jinja2
    import jinja2.sandbox

    environment = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        return environment.from_string(source).render(env=dict(environ))
    except jinja2.TemplateSyntaxError as error:
        raise SiteFileError(path, error.lineno, f"template: {error.message}") from None
    except Exception as error:
        # Jinja2 rewrites its frames so that they carry the template's own lines.
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "<template>"]
        line = frames[-1].lineno if frames else 1
        message = str(error).replace("'dict object' has no attribute", "no environment variable")
        hint = (
            "; set it, or give a default: {{ env.get('NAME', '…') }}"
            if isinstance(error, jinja2.UndefinedError)
            else ""
        )
        raise SiteFileError(path, line, f"template: {message}{hint}") from None


@cache
def validator(name: str) -> Any:
    """The validator of a schema of the package, made once."""
    import jsonschema

    return jsonschema.Draft7Validator(schema(name))


_TYPES = {"object": "a mapping", "array": "a list", "string": "a text", "integer": "a whole number", "number": "a number",
          "boolean": "true or false", "null": "null"}  # fmt: skip


def _explain(problem: Any) -> list[tuple[str, list[Step]]]:
    """What is wrong in a user's words, each with the steps from the problem's place to the culprit."""
    if problem.validator == "additionalProperties" and isinstance(problem.instance, dict):
        known = list(problem.schema.get("properties", {}))
        wrong = [str(key) for key in problem.instance if key not in known]
        return [(f"unknown key '{key}'{did_you_mean(key, known)}", [key]) for key in wrong]
    if problem.validator == "required":
        missing = [key for key in problem.validator_value if key not in problem.instance]
        return [(f"the key '{key}' is missing", []) for key in missing]
    if problem.validator == "type":
        wanted = problem.validator_value if isinstance(problem.validator_value, list) else [problem.validator_value]
        return [(f"expected {' or '.join(_TYPES[name] for name in wanted)}, found {_shown(problem.instance)}", [])]
    if problem.validator == "enum":
        return [(f"{_shown(problem.instance)} is not one of {', '.join(map(str, problem.validator_value))}"
                 f"{did_you_mean(str(problem.instance), [str(v) for v in problem.validator_value], else_all=False)}", [])]  # fmt: skip
    expected = problem.schema.get("errorMessage")
    if problem.validator in ("pattern", "propertyNames", "anyOf", "oneOf", "minItems", "maxItems", "not"):
        expected = expected or problem.schema.get("description")
    if expected:
        return [(f"{_shown(problem.instance)}: expected {expected[0].lower()}{expected[1:]}", [])]
    return [(str(problem.message), [])]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"


def did_you_mean(word: str, known: list[str], else_all: bool = True) -> str:
    """`` (did you mean 'x'?)`` for the nearest known word, else (``else_all``) the known ones, else nothing."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    # Two letters of three are enough in a word of the same length: 'd2h' for 'd2g', and not 'osu_check' for 'nosuch'.
    if close and (abs(len(close[0]) - len(word)) < 2 or difflib.get_close_matches(word, close, cutoff=0.7)):
        return f" (did you mean '{close[0]}'?)"
    return f" (known: {', '.join(sorted(known))})" if known and else_all else ""
