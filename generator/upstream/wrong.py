"""What keeps a component from being vendored."""

from msgspec import Struct

__all__ = ["RefusedError", "Wrong"]


class Wrong(Struct, frozen=True):
    """One thing that keeps a component from being vendored, and the smallest fix. `cause` is the same in all that one
    server's trouble brings, and empty in what stands for itself.
    """

    what: str
    fix: str
    cause: str = ""


class RefusedError(Exception):
    """Something cannot be had or used; `wrong` says what, and how to mend it."""

    def __init__(self, what: str, fix: str, cause: str = "") -> None:
        self.wrong = Wrong(what, fix, cause)
        super().__init__(what)
