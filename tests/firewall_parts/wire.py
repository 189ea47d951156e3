"""Join two network namespaces by a device `eno1` in each, whose packets this program carries to the other."""

import contextlib
import ctypes
import fcntl
import os
import select
import struct
import sys
from pathlib import Path

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def device(space: str) -> int:
    """Make the device in a namespace; return what its packets are read from."""
    with Path(space).open() as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0):
            raise OSError(ctypes.get_errno(), space)
    made = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(made, TUNSETIFF, struct.pack("16sH22x", b"eno1", IFF_TUN | IFF_NO_PI))
    return made


def main(*spaces: str) -> None:
    """Carry packets until somebody ends this."""
    first, second = map(device, spaces)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        for one in select.select([first, second], [], [])[0]:
            packet = os.read(one, 65536)
            # The other device may not be up yet.
            with contextlib.suppress(OSError):
                os.write(second if one == first else first, packet)


main(*sys.argv[1:])
