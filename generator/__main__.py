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


# Python takes room for frames from the kernel by 16 KiB, and most releases give it back with the last frame there
# (CPython's issue 142183): a loop that calls at such a depth does both each time, 2000 times in a render. Beside a
# frame of 128 KiB there is as much room for all others, and none of it is memory before it is used.
main.__code__ = main.__code__.replace(co_stacksize=2**14)


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
