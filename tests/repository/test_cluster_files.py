"""What stands where a cluster file belongs: told in one message, without waiting for it."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from reference import ROOT

from generator.errors import UsageError
from generator.repository.cluster_files import load
from generator.repository.places import names
from generator.spec.reader import SIZE

FILE = "clusters/x/cluster.yaml"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository whose one cluster has a folder and no file yet."""
    (tmp_path / "clusters/x").mkdir(parents=True)
    return tmp_path


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def linked(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "cannot be read: it is a named pipe; a cluster file is a regular file"),
        (bound, "cannot be read: it is a socket; a cluster file is a regular file"),
        (Path.mkdir, "cannot be read: it is a folder; a cluster file is a regular file"),
        (linked("/dev/zero"), "a link leads outside the repository, to /dev/zero, which Git does not keep; "),
        (linked("../../absent.yaml"), "cannot be read: it is a link to nothing; put the file itself here"),
        (linked("cluster.yaml"), "cannot be read: Too many levels of symbolic links"),
    ],
    ids=["pipe", "socket", "folder", "device", "nothing", "loop"],
)
def test_what_is_no_file_is_one_message_at_once(place: Path, make: Callable[[Path], None], words: str) -> None:
    make(place / FILE)
    # A process of its own: what waits for a pipe or reads zeros cannot be stopped from within.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "generator", "check", "-C", str(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 2
    assert f"{FILE}: {words}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_link_to_a_file_of_the_repository_is_read(place: Path) -> None:
    (place / "shared.yaml").write_text("a: 1\n")
    (place / FILE).symlink_to("../../shared.yaml")
    (one,) = load(place)
    assert one.document.value == {"a": 1}


@pytest.mark.parametrize("step", ["clusters", "clusters/x"])
def test_a_folder_that_is_a_link_out_of_the_repository_is_refused(place: Path, step: str) -> None:
    (place / FILE).write_text("a: 1\n")
    outside = place.parent / f"{place.name}-outside"
    (place / step).rename(outside)
    (place / step).symlink_to(outside)
    with pytest.raises(UsageError, match=rf"{FILE}: a link leads outside the repository, to {outside}"):
        load(place)


def test_a_repository_that_is_reached_by_a_link_is_read(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (place / FILE).write_text("a: 1\n")
    link = tmp_path_factory.mktemp("links") / "here"
    link.symlink_to(place)
    assert load(link)[0].document.value == {"a": 1}


def test_a_file_without_end_is_read_no_further_than_the_limit(place: Path) -> None:
    with (place / FILE).open("wb") as file:
        # No disk holds it: a file of holes.
        file.truncate(2**40)
    (one,) = load(place)
    assert [finding.message for finding in one.findings] == [
        f"the file has more than {SIZE} bytes, which are the most that is read"
    ]


def test_a_cluster_whose_file_is_a_link_to_nothing_does_not_vanish(place: Path) -> None:
    (place / FILE).symlink_to("absent.yaml")
    assert names(place) == ["x"]
    with pytest.raises(UsageError, match="link to nothing"):
        load(place)
