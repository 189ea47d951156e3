"""What keeps a component from being vendored."""

from msgspec import Struct

__all__ = ["RefusedError", "Wrong"]


class Wrong(Struct, frozen=True):
    """One thing that keeps a component from being vendored, and the smallest fix."""

    what: str
    fix: str


class RefusedError(Exception):
    """Something cannot be had or used; `wrong` says what, and how to mend it."""

    def __init__(self, what: str, fix: str) -> None:
        self.wrong = Wrong(what, fix)
        super().__init__(what)
