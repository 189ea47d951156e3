"""What a user can cause: printed as one message, never as a traceback."""


class UsageError(Exception):
    """A mistake that the user can mend; the text says place, what, why and the smallest fix. `exit_code` is gen's."""

    exit_code = 2


class CommandError(UsageError):
    """A program that `gen` started has failed.

    `command` is what was run, `status` its exit status (negative: ended by that signal) and `output`
    the program's own words.
    """

    def __init__(self, command: list[str], status: int, output: str) -> None:
        self.command = command
        self.status = status
        self.output = output
        super().__init__(f"`{' '.join(command)}` ended with status {status}:\n{output.strip() or '(no output)'}")
