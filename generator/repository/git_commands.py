"""Git commands that change something, in one working tree."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, NamedTuple, Self

from generator.errors import UsageError
from generator.repository.git_folder import LEADING, GitFolder

if TYPE_CHECKING:
    from git import Repo


class Answer(NamedTuple):
    """What a Git command ended with: its status, its output and its words."""

    status: int
    output: str
    words: str


class GitRefusalError(UsageError):
    """Git, or a hook of the user's, refused; the text ends with its own words."""

    exit_code = 1


class GitCommands:
    """Runs Git in the working tree that `place` tells. Used with `with`."""

    def __init__(self, place: GitFolder) -> None:
        self.place = place
        self._repo = _opened(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._repo.close()

    def ask(self, *words: str) -> Answer:
        """Run a command, whatever it ends with. No editor opens: nobody waits for one."""
        status, output, said = self._repo.git.execute(
            ["git", *words],
            with_extended_output=True,
            with_exceptions=False,
            strip_newline_in_stdout=False,
            env={"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true"},
        )
        return Answer(status, str(output), str(said))

    def run(self, why: str, *words: str) -> str:
        """Return what a command says, without the last line end. Raises GitRefusalError: `why`, and Git's words."""
        answer = self.ask(*words)
        if answer.status:
            raise GitRefusalError(f"{why}:\n{answer.words.strip() or answer.output.strip() or '(Git said nothing)'}")
        return answer.output.rstrip("\n")

    def value(self, *words: str) -> str:
        """Return what a command says; "" where there is nothing to say."""
        answer = self.ask(*words)
        return "" if answer.status else answer.output.strip()


def _opened(place: GitFolder) -> "Repo":
    """Open a repository, whatever the environment says of others. Raises UsageError where there is no Git, or nothing
    that it can read.
    """
    for name in LEADING:
        os.environ.pop(name, None)
    try:
        from git import Repo  # noqa: PLC0415 - slow to import
        from git.exc import InvalidGitRepositoryError  # noqa: PLC0415
    except ImportError:
        raise UsageError("`git` was not found; install it or put it on PATH") from None
    try:
        return Repo(place.top)
    except InvalidGitRepositoryError:
        raise UsageError(f"{place.top}: {place.git_dir} is not a Git folder that can be read") from None


@contextmanager
def listed(paths: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words by which a command takes many paths, each as it is written."""
    with NamedTemporaryFile(prefix="gen-", suffix=".paths") as file:
        file.write(b"\0".join(path.encode(errors="surrogateescape") for path in paths))
        file.flush()
        yield f"--pathspec-from-file={file.name}", "--pathspec-file-nul"


@contextmanager
def written(text: str) -> Iterator[str]:
    """Yield the name of a file that says `text`."""
    with NamedTemporaryFile("w", prefix="gen-", suffix=".txt", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        yield str(Path(file.name))
