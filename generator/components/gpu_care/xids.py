"""What each Xid that NVIDIA's driver tells means for the node.

Source: NVIDIA's Xid catalog, https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html (2025-10), column
"Resolution Bucket (Immediate Action)"; what it asks for is said with each class. An Xid that is in none is only noted.
"""

from enum import StrEnum


class Xid(StrEnum):
    """What is done about an Xid."""

    SICK = "sick"
    """RESET_GPU, RESTART_BM, and the workflows of 48, 74 and NVLink 5: the GPU is good for no job until then."""
    RESET = "reset"
    """Memory that is put right at the next reset: jobs go on, or were stopped by the driver (94)."""
    APPLICATION = "application"
    """RESTART_APP: a job did it. Many different jobs on one node speak against the node."""
    SUPPORT = "support"
    """CONTACT_SUPPORT, CHECK_MECHANICALS: a person looks, and may go on with jobs until then."""


def _codes(*parts: int | tuple[int, int]) -> tuple[int, ...]:
    """Return codes, of which a pair means all from the first to the last."""
    ranges = (range(one[0], one[1] + 1) if isinstance(one, tuple) else (one,) for one in parts)
    return tuple(code for each in ranges for code in each)


CLASSES = {
    Xid.SICK: _codes(
        46, 48, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, (144, 151), 154, 155, 156, 158
    ),
    Xid.RESET: _codes(63, 94),
    Xid.APPLICATION: _codes(
        8, 11, 13, 25, 31, 32, (39, 41), 60, (68, 72), (75, 77), 80, (82, 86), 88, 89, (96, 105), (126, 135), 139
    ),
    Xid.SUPPORT: _codes(54, (56, 59), 61, 65, 73, 87, 90, 91, (111, 118), (122, 125), 138, 142),
}  # fmt: skip
WORDS = {
    46: "GPU stopped processing",
    48: "double bit ECC error",
    54: "auxiliary power is not connected",
    62: "internal micro-controller halt",
    63: "page retirement or row remapping recorded",
    64: "page retirement or row remapping failed",
    74: "NVLink error",
    79: "GPU has fallen off the bus",
    94: "contained ECC error",
    95: "uncontained ECC error",
    119: "GSP RPC timeout",
    120: "GSP error",
    154: "the driver asks for a reset or a reboot",
}
"""What the most usual are called; others by their number alone."""


def device_xids() -> list[int]:
    """Return the codes that speak of the device, and not of the program on it."""
    return sorted((*CLASSES[Xid.SICK], *CLASSES[Xid.RESET]))


def table() -> dict[str, list[str]]:
    """Return class and words of each code, as the script reads it."""
    return {str(code): [one.value, WORDS.get(code, "")] for one, codes in CLASSES.items() for code in codes}
