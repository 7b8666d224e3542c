"""Where state is written: one absolute place, whoever asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.base import NearfarError, places


def test_of_a_checkout_it_is_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEARFAR_STATE", raising=False)
    assert places.state_directory() == places.CHECKOUT


@pytest.mark.parametrize(
    ("state", "xdg", "expected"),
    [
        ("/a/state", "/x", "/a/state"),
        (None, "/x", "/x/nearfar"),
        (None, "relative", "/home/me/.local/state/nearfar"),
        (None, None, "/home/me/.local/state/nearfar"),
        ("relative", None, None),
        ("~/state", None, None),
        ("~nosuchuser/state", None, None),
    ],
)
def test_of_a_wheel(monkeypatch: pytest.MonkeyPatch, state: str | None, xdg: str | None, expected: str | None) -> None:
    monkeypatch.setattr(places, "CHECKOUT", None)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in (("NEARFAR_STATE", state), ("XDG_STATE_HOME", xdg)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    if expected is None:
        with pytest.raises(NearfarError, match=f"NEARFAR_STATE={state}"):
            places.state_directory()
    else:
        assert places.state_directory() == Path(expected)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(places, "CHECKOUT", None)
    monkeypatch.setattr(Path, "home", homeless)
    for name in ("NEARFAR_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NearfarError, match="NEARFAR_STATE=/a/folder"):
        places.state_directory()
