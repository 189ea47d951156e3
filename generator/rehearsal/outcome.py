"""What became of what a rehearsal did."""

from enum import StrEnum

from msgspec import Struct


class Fate(StrEnum):
    """What became of an object that was to be applied or removed."""

    APPLIED = "applied"
    REFUSED = "refused"
    LATE = "late"
    """Refused at its wave, and taken once later waves were there."""
    DELETED = "deleted"
    REPLACED = "replaced"
    """Deleted and made anew, as its sync options say."""
    KEPT = "kept"
    """It left Git and stays, as its sync options say."""
    WAITS = "waits"
    """It left Git and goes once a person confirms it."""
    NOT_PLAYED = "not played"
    UNREACHED = "not reached"
    """The sync of its Application ended badly before it."""


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of one object: `kind` is written "group/Kind", `why` are the words of the API server."""

    fate: Fate
    application: str
    wave: int
    kind: str
    namespace: str
    name: str
    why: str = ""

    @property
    def shown(self) -> str:
        """How people name the object."""
        return " ".join((self.kind.rpartition("/")[2], "/".join(filter(None, (self.namespace, self.name)))))


class Wave(Struct, frozen=True, kw_only=True):
    """One wave of Applications: how long it took until nothing of it was waited for, and what never got ready. `began`
    is told, in seconds after the commit, where Argo CD itself syncs: its waves may overlap.
    """

    number: int
    applications: tuple[str, ...]
    seconds: float
    hung: tuple[str, ...] = ()
    began: float | None = None


class Synced(Struct, frozen=True):
    """What a sync came to."""

    outcomes: tuple[Outcome, ...]
    waves: tuple[Wave, ...]
