"""The hooks that ship as examples, against a mail program and web servers that are played."""

from __future__ import annotations

import email.policy
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.status import on_event
from tests.conftest import CHECKOUT

EXAMPLES = CHECKOUT / "site" / "templates" / "slurm" / "hooks"
WORDS = "GPU 2, device to host: 27.1 GB/s, expected at least 52.6"
DRAIN = {
    "schema": "nearfar-hook/1", "event": "drain", "id": "b2a1b2b9", "attempt": 1, "time": "2026-11-21T20:11:59Z", "system": "vm",
    "node": "n2", "host": "admin1", "reason": "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=8f3a51c0", "why": "confirmed",
    "finding": {"subject": "sole.g2_n0", "verdict": "FAIL", "reason": WORDS, "hard": False}, "run": None,
}  # fmt: skip
FINDING = {**DRAIN, "event": "finding", "id": "00000001"}
RELEASE = {**DRAIN, "event": "release", "id": "00000002", "by_act": True, "why": "it passed"}


class Server:
    """An HTTP server on this machine that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.code = 200

    @contextmanager
    def serve(self) -> Iterator[str]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.asked.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(server.code)
                self.end_headers()
                self.wfile.write(b'{"id": 42}')

            def log_message(self, *words: object) -> None:
                pass

        with HTTPServer(("127.0.0.1", 0), Handler) as http:
            thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
            thread.start()
            yield f"http://127.0.0.1:{http.server_port}"
            http.shutdown()
            thread.join()


def copied(folder: Path, name: str, conf: dict[str, str] | None = None) -> str:
    place = folder / name
    shutil.copy(EXAMPLES / f"{name}.example", place)
    if conf is not None:
        (folder / f"{name}.conf").write_text(json.dumps(conf))
    return str(place)


def called(program: str, event: dict[str, Any]) -> str | None:
    return on_event._problem(program, event, 20.0)


@pytest.fixture
def sendmail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mail program that keeps what it is given; the hooks' own PATH leads to it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sendmail").write_text(f'#!/bin/sh\n[ "$*" = "-t -i" ] && cat > {tmp_path}/sent\n')
    (folder / "sendmail").chmod(0o755)
    environment = {**on_event.ENVIRONMENT, "PATH": f"{folder}:{os.environ['PATH']}"}
    monkeypatch.setattr(on_event, "ENVIRONMENT", environment)
    return tmp_path / "sent"


def test_a_mail(tmp_path: Path, sendmail: Path) -> None:
    assert called(copied(tmp_path, "mail"), DRAIN) is None
    mail = email.message_from_bytes(sendmail.read_bytes(), policy=email.policy.default)
    assert mail["Subject"].strip() == "nearfar: drained n2: GPU 2, device to host: 27.1 GB/s, expected at least 52.6"
    assert (mail["To"], mail["Message-ID"]) == ("root", "<drain.b2a1b2b9.n2@admin1>")
    assert "reason    nearfar: FAIL host_device" in mail.get_content() and "run  " not in mail.get_content()


def test_a_mail_whose_words_want_to_be_headers(tmp_path: Path, sendmail: Path) -> None:
    assert (
        called(copied(tmp_path, "mail"), {**DRAIN, "finding": {"reason": "x\nBcc: all@example.org\n\n§ " + "y" * 500}})
        is None
    )
    mail = email.message_from_bytes(sendmail.read_bytes(), policy=email.policy.default)
    assert mail["Bcc"] is None and mail["Subject"]


def test_no_mail_program(tmp_path: Path) -> None:
    assert str(called(copied(tmp_path, "mail"), DRAIN)).startswith("exit code 1")


def test_a_web_hook(tmp_path: Path) -> None:
    server = Server()
    with server.serve() as url:
        program = copied(tmp_path, "webhook", {"url": f"{url}/secret"})
        assert called(program, DRAIN) is None
        [(path, headers, body)] = server.asked
        assert (path, body, headers["Idempotency-Key"]) == ("/secret", DRAIN, "drain-b2a1b2b9")
        copied(tmp_path, "webhook", {"url": url, "field": "text"})
        called(program, DRAIN)
        assert server.asked[1][2] == {"text": f"nearfar: n2: drain: {WORDS}"}
        server.code = 503
        assert called(program, DRAIN) == "exit code 1: the web hook answered 503"
    problem = called(program, DRAIN)
    assert problem is not None and "cannot be reached" in problem and "http" not in problem


def test_a_ticket_for_each_node(tmp_path: Path) -> None:
    server = Server()
    with server.serve() as url:
        conf = {"url": f"{url}/tickets", "token": "t0k", "state": str(tmp_path / "state")}
        program = copied(tmp_path, "ticket", conf)
        for event in (
            FINDING,
            DRAIN,
            DRAIN,
            {**FINDING, "id": "00000003"},
            RELEASE,
            RELEASE,
            {**DRAIN, "id": "00000004"},
        ):
            assert called(program, event) is None
    assert [path for path, _, _ in server.asked] == [
        "/tickets",
        "/tickets/42/comments",
        "/tickets/42/close",
        "/tickets",
    ]
    assert server.asked[0][1]["Authorization"] == "Bearer t0k"
    assert server.asked[0][2]["title"] == f"n2: {DRAIN['reason']}"


def test_a_tracker_that_does_not_answer_leaves_the_event_to_be_told_again(tmp_path: Path) -> None:
    conf = {"url": "http://127.0.0.1:9", "token": "t", "state": str(tmp_path / "state")}
    program = copied(tmp_path, "ticket", conf)
    assert str(called(program, DRAIN)).startswith("exit code 1")
    server = Server()
    with server.serve() as url:
        copied(tmp_path, "ticket", {**conf, "url": url})
        assert called(program, DRAIN) is None and len(server.asked) == 1


def test_the_examples_are_programs() -> None:
    for path in EXAMPLES.iterdir():
        assert path.stat().st_mode & 0o111 and path.read_text().startswith("#!/usr/bin/python3 -I\n")
        compile(path.read_text(), str(path), "exec")
