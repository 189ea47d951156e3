"""Operations that can be played."""

from generator.components.gpu_care.names import DRAIN
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    EXPANSION,
    MAINTENANCE,
    MINIO_EXPANSION,
    OSD_REPLACEMENT,
    REMOVAL,
    REPLACEMENT,
    UPGRADE,
)
from generator.errors import UsageError
from generator.spec.near import suggest

PLAYED = {
    UPGRADE: "",
    MAINTENANCE: "",
    DRIVER_UPGRADE: "",
    DRAIN: "",
    EXPANSION: "",
    REMOVAL: "",
    REPLACEMENT: "forget",
    OSD_REPLACEMENT: "purge",
    DRIVE_REPLACEMENT: "preflight",
}
"""Operations, each with the step after which nothing more can be played: another machine or disk is needed."""

UNLIKE = (MINIO_EXPANSION,)
"""Operations that act on what a twin does not run, with names near to those of others."""


def refuse_others(name: str) -> None:
    """Raise UsageError for what is no such operation."""
    if name not in PLAYED:
        others = f"a twin has nodes and pods alone; there are {', '.join(PLAYED)}"
        hint = others if name in UNLIKE else suggest(name, PLAYED, others)
        raise UsageError(f"{name} cannot be simulated; {hint}")
