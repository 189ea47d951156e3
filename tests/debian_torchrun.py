"""Debian's torchrun, on the Python that Debian has it with: there PyTorch 1.13 takes no 0 for `Std.NONE`, and ends.

Run by the Python that has PyTorch, in the place of torchrun.
"""

import sys

from torch.distributed.elastic.multiprocessing.api import Std
from torch.distributed.run import main

_KNOWN = Std.from_str


def _from_str(said: str) -> object:
    return Std.NONE if said == "0" else _KNOWN(said)


if __name__ == "__main__":
    Std.from_str = _from_str
    sys.exit(main())
