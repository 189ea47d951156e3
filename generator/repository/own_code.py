"""Which gen this is, beyond its version: builds of two commits have one number."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

from generator import __version__
from generator.layout.lock import LOCK, Writer, written_by
from generator.model.versions import numbers
from generator.repository.history import History
from generator.repository.vendored import OwnFileError, Read

DECIDES = ("model", "spec", "checks", "edits", "components", "layout", "upstream")
"""The packages that decide what is rendered and vendored: all else brings it onto the disk, or tells of it."""


SOURCE = Path(__file__).resolve().parents[1]


def other_source(history: History, commit: str) -> bool:
    """Tell whether this gen runs from source in the repository of `history` that is another one at `commit`: there
    `gen.lock` need not tell them apart.
    """
    return not this_gen().code and history.differs(commit, (SOURCE / name for name in DECIDES))


def this_gen() -> Writer:
    """Return this gen, as `gen.lock` names it."""
    return Writer(__version__, code(str(Path(__file__).parents[2])))


@cache
def code(site: str) -> str:
    """Return the digest of the installed code, equal for equal code however it was built and installed; empty for a gen
    that runs from its source, of which no installer has listed the files with their digests (RECORD of a wheel).
    """
    try:
        record = Path(site, f"gen-{__version__}.dist-info", "RECORD").read_text(encoding="utf-8")
    except OSError:
        return ""
    from hashlib import sha256  # noqa: PLC0415 - it loads OpenSSL, and a gen that runs from its source needs none

    mine = tuple(f"generator/{name}/" for name in DECIDES)
    # Installers add lines of their own, for what Python compiled, and write no digest there.
    lines = sorted(line for line in record.splitlines() if line.startswith(mine) and ",sha256=" in line)
    return f"sha256:{sha256(chr(10).join(lines).encode()).hexdigest()}" if lines else ""


def refuse_newer(content: Read, discard: Collection[str]) -> None:
    """Raise OwnFileError where a newer gen wrote the repository, unless `gen.lock` is to be overwritten."""
    writer = written_by(content(LOCK) or b"")
    if LOCK not in discard and numbers(writer.version) > numbers(__version__):
        raise OwnFileError(
            LOCK,
            f": gen {writer.version} wrote this repository, and this is gen {__version__}, which would take back what "
            f"the newer one brought; install gen {writer.version}, or go back to this one with `gen render --discard "
            f"{LOCK}`",
        )
