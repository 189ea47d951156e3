"""`python -m generator` is `gen`."""

import gc
import os
import signal


def main() -> None:
    """Run `gen` and end the process. While modules are imported, Ctrl-C ends it at once."""
    # One command makes few cycles, and looking for them, while modules are imported too, costs a tenth of a render.
    gc.disable()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stopped)
    from generator.cli import main as run  # noqa: PLC0415 - as soon as Ctrl-C is seen to

    run()


def _stopped(_number: int, _frame: object) -> None:
    os.write(2, b"gen: stopped\n")
    os._exit(130)


if __name__ == "__main__":
    main()
