"""What Git says, and the objects that it keeps: without GitPython, which takes longer to import than Git to answer."""

import os
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

from generator.errors import CommandError, UsageError
from generator.repository.git_folder import LEADING, GitFolder

if TYPE_CHECKING:
    from generator.process import Program


class Object(NamedTuple):
    """What Git keeps under a name: `blob`, `tree`, `commit` or `tag`, and its bytes."""

    kind: str
    content: bytes


class GitReader:
    """Asks Git in the working tree that `place` tells, whatever the environment says of others. `close` ends the
    process that it keeps.
    """

    def __init__(self, place: GitFolder) -> None:
        self._place = place
        own = {name: value for name, value in os.environ.items() if name not in LEADING}
        # Some of Git's words are looked for.
        self._environment = {**own, "LANGUAGE": "C", "LC_ALL": "C"}
        self._kept = ExitStack()
        self._batch: Program | None = None

    def close(self) -> None:
        """End the process that was kept."""
        self._kept.close()

    def say(self, *words: str) -> str:
        """Return what a command says, without the last line end. Raises CommandError with Git's words, which may be
        none.
        """
        command = ["git", *words]
        with self._started(command) as git:
            output, said = git.communicate()
        if git.returncode:
            raise CommandError(command, git.returncode, said.decode(errors="replace"))
        return os.fsdecode(output).removesuffix("\n")

    def object(self, name: str) -> Object | None:
        """Return an object, None where Git has none of this name. Raises UsageError with Git's words where it cannot
        tell. A name ends with its line.
        """
        if self._batch is None:
            self._batch = self._kept.enter_context(self._started(["git", "cat-file", "--batch"]))
        return _answer(self._batch, os.fsencode(name))

    def _started(self, command: list[str]) -> AbstractContextManager["Program"]:
        from generator.process import piped  # noqa: PLC0415 - slow to import, and a render mostly asks nothing

        return piped(command, cwd=self._place.top, env=self._environment)


def _answer(git: "Program", name: bytes) -> Object | None:
    """Ask `git cat-file --batch`: a line with name, kind and size, the content, a line end (git-cat-file(1), BATCH
    OUTPUT).
    """
    assert git.stdin and git.stdout and git.stderr  # noqa: PT018, S101 - for the type checker
    with suppress(BrokenPipeError):  # it is gone, and has said why
        os.write(git.stdin.fileno(), name + b"\n")
    head = git.stdout.readline()
    if head.endswith(b" missing\n"):
        return None
    about = head.split()
    if len(about) != 3 or not about[2].isdigit():
        raise _refused(head or git.stderr.read())
    size = int(about[2])
    content = git.stdout.read(size + 1)
    if len(content) <= size:
        raise _refused(git.stderr.read())
    return Object(about[1].decode(), content[:size])


def _refused(words: bytes) -> UsageError:
    return UsageError(words.decode(errors="replace").strip())
