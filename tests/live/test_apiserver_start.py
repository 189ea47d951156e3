"""Programs that are absent or fail; real ones are in tests/real/test_check_server.py."""

from pathlib import Path

import pytest

from generator.errors import UsageError
from generator.live.apiserver import free_ports, program, start, throw_away
from generator.process import background, stop
from generator.process import start as start_program


@pytest.fixture
def _nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    for name in ("GEN_ETCD", "GEN_KUBE_APISERVER"):
        monkeypatch.delenv(name, raising=False)


def executable(path: Path, text: str = "exit 0") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.usefixtures("_nothing_here")
def test_a_program_is_looked_for_in_the_environment_the_cache_and_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"make real-tools.*GEN_KUBE_APISERVER.*--kubeconfig"):
        program("kube-apiserver")
    there = executable(tmp_path / "path" / "kube-apiserver")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert program("kube-apiserver") == there
    cached = executable(tmp_path / "gen" / "bin" / "kube-apiserver")
    assert program("kube-apiserver") == cached
    given = executable(tmp_path / "mine")
    monkeypatch.setenv("GEN_KUBE_APISERVER", given)
    assert program("kube-apiserver") == given
    monkeypatch.setenv("GEN_KUBE_APISERVER", str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="is not a program; correct it or unset it"):
        program("kube-apiserver")


def test_a_program_that_ends_at_once_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    failing = executable(tmp_path / "bin" / "etcd", "echo no disk >&2; exit 7")
    monkeypatch.setenv("GEN_ETCD", failing)
    monkeypatch.setenv("GEN_KUBE_APISERVER", failing)
    with pytest.raises(UsageError, match="etcd ended with status 7:\nno disk"), throw_away():
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_a_token_is_for_nobody_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing = executable(tmp_path / "etcd", "exit 1")
    monkeypatch.setenv("GEN_ETCD", failing)
    monkeypatch.setenv("GEN_KUBE_APISERVER", failing)
    with pytest.raises(UsageError), start(tmp_path):
        pass
    assert (tmp_path / "tokens.csv").stat().st_mode & 0o077 == 0


def test_a_program_ends_with_its_block_even_an_unwilling_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("generator.process.PATIENCE", 0.2)
    unwilling = executable(tmp_path / "unwilling", "trap '' TERM; echo up; while :; do sleep 0.05; done")
    running = []

    def interrupted() -> None:
        with background(tmp_path, [unwilling]) as process:
            running.append(process)
            while not (tmp_path / "unwilling.log").read_text():
                pass
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [process.returncode for process in running] == [-9]


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="could not be started: No such file"):
        start_program(tmp_path, [str(tmp_path / "nothing")])


def test_a_program_that_has_ended_can_be_stopped(tmp_path: Path) -> None:
    process = start_program(tmp_path, ["true"])
    process.wait()
    stop(process)


def test_ports_are_different_and_free() -> None:
    assert len(set(free_ports(20))) == 20


def test_no_port_is_one_that_the_kernel_gives_to_who_connects() -> None:
    """Whoever connects to anything might have it before the program that it was meant for listens."""
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert not [port for port in free_ports(20) if first <= port <= last]
