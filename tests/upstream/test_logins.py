"""Credentials as Docker keeps them, in its file and with its helpers."""

import base64
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.upstream.logins import logins

Make = Callable[[str], Path]
HUB = "https://index.docker.io/v1/"


@pytest.fixture
def helper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make a helper `docker-credential-shop` on PATH that notes what it is asked; return its notes."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def make(script: str) -> Path:
        program = tmp_path / "docker-credential-shop"
        program.write_text(f'#!/bin/sh\nread -r host\necho "$1 $host" >>{tmp_path}/notes\n{script}\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return tmp_path / "notes"

    return make


def config(folder: Path, **content: object) -> None:
    (folder / "config.json").write_text(json.dumps(content))


def words(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


GIVES = """echo '{"ServerURL": "x", "Username": "robot", "Secret": "made-up"}'"""


def test_a_helper_is_asked_once_for_a_registry_of_its_own(tmp_path: Path, helper: Make) -> None:
    notes = helper(GIVES)
    config(tmp_path, credHelpers={"one.example.org:5000": "shop"}, auths={"two.example.org": {"auth": "abc"}})
    found = logins()
    assert [found.words("one.example.org:5000") for _ in range(2)] == [words("robot", "made-up")] * 2
    assert found.words("two.example.org") == "abc"
    assert notes.read_text() == "get one.example.org:5000\n"
    assert found.silent == {}


def test_a_store_is_asked_for_all_others_and_docker_hub_has_its_own_name(tmp_path: Path, helper: Make) -> None:
    notes = helper(GIVES)
    config(tmp_path, credsStore="shop", auths={HUB: {}})
    found = logins()
    assert {found.words("docker.io"), found.words("a.example.org")} == {words("robot", "made-up")}
    assert notes.read_text() == f"get {HUB}\nget a.example.org\n"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo credentials not found in native keychain; exit 1", "credentials not found in native keychain"),
        ("echo no", "it did not answer as Docker's helpers do"),
        ("echo '[]'", "it did not answer as Docker's helpers do"),
        ("""echo '{"Username": "<token>", "Secret": "x"}'""", "it has an identity token, which gen cannot use"),
    ],
)
def test_why_a_helper_gives_none_is_known_and_the_file_counts(
    tmp_path: Path, helper: Make, script: str, why: str
) -> None:
    helper(script)
    config(tmp_path, credsStore="shop", auths={"two.example.org": {"username": "a", "password": "b"}})
    found = logins()
    assert found.words("one.example.org") == ""
    assert found.words("two.example.org") == words("a", "b")
    told = f"`docker-credential-shop`, which config.json names, gave no credentials: {why}"
    assert found.silent == {"one.example.org": told, "two.example.org": told}


def test_a_helper_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    config(tmp_path, credsStore="shop")
    found = logins()
    assert found.words("one.example.org") == ""
    assert "`docker-credential-shop` was not found" in found.silent["one.example.org"]
