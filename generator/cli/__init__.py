"""The command line: one module per verb; each parses, calls and prints."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING, Any

import click

from generator import __version__
from generator.cli.empty_words import refusing
from generator.cli.msgspec_alone import import_alone
from generator.cli.terminal import colour, say
from generator.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

BUG = 70
_STOPS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_INSISTED = 2
_heard: list[int] = []
VERBS = {
    "bootstrap": "Bring a cluster of bare nodes to where Argo CD syncs it; tell what is missing.",
    "check": "Check cluster files and report everything that is wrong with them.",
    "comment": "Put a text on the pull request of this CI job, as one comment that is updated in place.",
    "commit": "Render, check and commit a change, with a message that says what it does; push it.",
    "completion": "Print the completion script for a shell.",
    "diff": "Tell what a change does to the running clusters.",
    "doctor": "Tell what gen needs on this machine and in this repository, and what is missing.",
    "drift": "Tell what of a running cluster differs from Git, and who changed it.",
    "explain": "Explain a finding's code, or where a value of a cluster comes from.",
    "help": "Tell more of a command; without one, of all.",
    "images": "List every image of the clusters, with digests; check that all come from the mirror.",
    "init": "Begin a repository, or add a cluster to it.",
    "migrate": "Bring a repository that an older gen wrote, and its cluster files, to this one.",
    "node": "Add, remove, replace or change nodes in a cluster file, line by line.",
    "pool": "Add a pool and its nodes to a cluster file, line by line.",
    "rehearse": "Try a change on a twin of the cluster, with real queues, before it is merged.",
    "render": "Write the repository that Argo CD syncs from the cluster files.",
    "report": "Show a cluster as it is: racks, switches, storage, quotas, waves, images.",
    "restore": "Bring a bucket or a volume back from its backup: into a new one, proven.",
    "rollback": "Take a commit back by a new one, and tell first what that does.",
    "schema": "Print the JSON Schema of the cluster file.",
    "secret": "Give a running cluster's Secrets other values, and tell how old they are.",
    "status": "Tell how a running cluster does, and why something is stuck.",
    "sync": "Bring a running cluster to one commit, wave by wave, and wait for it.",
    "use": "Tell what teams used of a cluster's GPUs in a month: hours, idle, quota, waiting.",
    "vendor": "Inflate charts and upstream manifests into the repository, with digests locked.",
    "workflow": "Run day-2 operations of a running cluster, and see how far they are.",
    "workload": "Write jobs for teams that the cluster lets in, places and connects.",
}


class PipeError(Exception):
    """Somebody who read along went away: `gone`, which click itself would take for a failure of the verb."""

    def __init__(self, gone: BrokenPipeError) -> None:
        super().__init__()
        self.gone = gone


@contextmanager
def _past_click() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise PipeError(error) from error


class Verbs(click.Group):
    """Imports a verb's module only when it is called: `--help` and completion must be instant."""

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Read the words that were typed; `--help` is printed here."""
        with _past_click():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Call the verb."""
        with _past_click():
            return super().invoke(ctx)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the verbs."""
        return list(VERBS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        """Import a verb."""
        if name not in VERBS:
            return None
        import_alone()
        command = import_module(f"generator.cli.{name}").command
        assert isinstance(command, click.Command)  # noqa: S101 - for the type checker
        return refusing(command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the verbs without importing them."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only when it is needed

        offered = [CompletionItem(name, help=about) for name, about in VERBS.items() if name.startswith(incomplete)]
        return offered or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; a mistyped one is answered with the nearest."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from generator.spec.near import suggest  # noqa: PLC0415 - only when it is needed

            hint = suggest(args[0], VERBS, f"there are {', '.join(VERBS)}", "`{}`")
            ctx.fail(f"there is no command `{args[0]}`; {hint}")
        if ctx.resilient_parsing and args and args[0] in VERBS:
            from generator.cli.completing import stand_in  # noqa: PLC0415 - only when it is needed

            before = ["-C", ctx.params["directory"]] if ctx.params.get("directory") else []
            if instead := stand_in(args[0], [*before, *args[1:]]):
                return args[0], instead, args[1:]
        return super().resolve_command(ctx, args)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gen")
@click.option("-C", "--directory", metavar="DIRECTORY", help="Where the command works, as its own -C. Default: here.")
def cli(directory: str | None) -> None:
    """Turn one file that describes an on-premises ML cluster into a repository that Argo CD syncs.

    Begin: `git init`, `gen init NAME`, edit the file that it names, then `gen check`, `gen render`, `gen commit`.
    `gen help COMMAND` tells more of each.

    Exit codes: 0 done, 1 findings or differences, 2 wrong usage, 3 needs approval, 70 a bug in gen, above 128 stopped.
    """
    del directory  # the verbs ask the context for it


refusing(cli)


def main() -> None:
    """Run `gen` and end the process."""
    for number in _STOPS:
        # What is ignored stays so: `nohup` wants it, and shells for what runs in the background.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stopped)
    code = run(sys.argv[1:])
    # What is done is done: from here on Ctrl-C could only end in a traceback.
    for number in _STOPS:
        signal.signal(number, signal.SIG_IGN)
    # Nor need the interpreter look through everything once more before it ends: a thirtieth.
    gc.freeze()
    if _heard:
        from generator.process import leave  # noqa: PLC0415 - only when it is needed

        leave(128 + _heard[0])
    sys.exit(code)


def _stopped(number: int, _frame: object) -> None:
    """End in good order: what is temporary goes, and so do the programs that were started. A second signal changes
    nothing, as a terminal that is closed sends two; whoever insists does not wait for order.
    """
    _heard.append(number)
    if len(_heard) > _INSISTED:
        os._exit(128 + _heard[0])
    if len(_heard) == 1:
        # A signal may come while the module is imported: then no program was started.
        if halt := getattr(sys.modules.get("generator.process"), "halt", None):
            halt()
        raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run `gen` with these arguments and return its exit code; what the user caused is one message."""
    try:
        code = cli.main(arguments, prog_name="gen", standalone_mode=False, color=colour())
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        say(shown.getvalue(), err=True, nl=False)
        _hint(arguments)
        return error.exit_code
    except UsageError as error:
        say(f"gen: {error}", err=True)
        _hint(arguments)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        say("gen: stopped", err=True)
        return 130
    except PipeError as error:
        return _unread() if _printing(error.gone) else _bug()
    except Exception as error:  # noqa: BLE001 - the last resort: a bug of ours, told as one
        return _unforeseen(error)
    return code if isinstance(code, int) else 0


def _hint(arguments: list[str]) -> None:
    """Tell how to name a cluster, where one was named in another way."""
    from generator.cli.bare_names import with_option  # noqa: PLC0415 - only when it is needed

    meant = None
    with suppress(OSError):  # it looks for clusters: where that is what failed, the error itself is told
        meant = with_option(cli, arguments)
    if meant:
        say(f"a cluster is named with --cluster: {meant}", err=True)


def _unforeseen(error: Exception) -> int:
    if isinstance(error, ModuleNotFoundError):
        return _missing(error)
    if isinstance(error, FileNotFoundError) and _homeless():
        say("gen: the current folder is not there any more; go to one that is (`cd`), or name one with -C", err=True)
        return 2
    if isinstance(error, OSError) and _printing(error):
        return _unwritten(error)
    if isinstance(error, PermissionError) and error.filename:
        say(f"gen: {error.filename}: cannot be read or written: {error.strerror}", err=True)
        return 2
    return _bug()


def _homeless() -> bool:
    """Tell whether the current folder was removed or moved away below this process."""
    from pathlib import Path  # noqa: PLC0415 - only when it is needed

    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _printing(error: OSError) -> bool:
    """Tell whether it was printing that failed: everything that is printed goes through click."""
    from traceback import walk_tb  # noqa: PLC0415 - only when it is needed

    *_, (innermost, _line) = walk_tb(error.__traceback__)
    return innermost.f_code is click.echo.__code__


def _unread() -> int:
    """End as programs do whose reader went away (`gen check | head`): not worth a word."""
    _write_no_more()
    return 141


def _unwritten(error: OSError) -> int:
    """Tell that nobody will read what was to be printed."""
    with suppress(OSError):  # where standard error is full as well, there is nobody to tell
        say(f"gen: standard output could not be written: {error.strerror}", err=True)
    _write_no_more()
    return 2


def _write_no_more() -> None:
    """Keep the interpreter from telling at its end, once more, what could not be written."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
            continue
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _missing(error: ModuleNotFoundError) -> int:
    from generator.cli.extras import left_out  # noqa: PLC0415 - only when it is needed

    told = left_out(error.name)
    if told is None:
        return _bug()
    say(f"gen: {told}", err=True)
    return 2


def _bug() -> int:
    import traceback  # noqa: PLC0415 - only when it is needed

    from generator.model.secret_texts import hidden  # noqa: PLC0415

    if "GEN_DEBUG" not in os.environ:
        say("gen: this is a bug in gen, not in your files. Please report what follows:", err=True)
    parts = traceback.format_exception(sys.exception())
    # What stands in lines of programs (`token = ...`) names passwords, and what an error says may be one.
    shown = (hidden(part, lambda _: "***", is_line=not part.startswith("  ")) for part in parts)
    say("".join(shown).rstrip(), err=True)
    return BUG
