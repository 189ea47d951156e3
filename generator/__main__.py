"""`python -m generator` is `gen`."""

import gc
import os
import signal
import sys


def main() -> None:
    """Run `gen` and end the process. While modules are imported, Ctrl-C ends it at once."""
    _open_standard()
    # One command makes few cycles, and looking for them, while modules are imported too, costs a tenth of a render.
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stopped)
    from generator.cli import main as run  # noqa: PLC0415 - as soon as Ctrl-C is seen to

    run()


def _open_standard() -> None:
    """Lead to nowhere what was closed (`>&-`): all code prints, and a file would be opened in its place and be printed
    into.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end


def _stopped(_number: int, _frame: object) -> None:
    os.write(2, b"gen: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
