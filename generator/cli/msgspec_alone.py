"""msgspec, without the twentieth of a check that `typing_extensions` takes to be imported.

msgspec asks it first for what Python has had itself since 3.11, and takes that where it is not installed; jsonschema
brings it along. So it is as if not installed while msgspec is imported, and there for everybody after that.
"""

import sys

_NEEDLESS = "typing_extensions"


def import_alone() -> None:
    """Import msgspec; where it or what it asks for was imported before, nothing is to be saved."""
    if {"msgspec", _NEEDLESS} & sys.modules.keys():
        return
    # So the import system marks what there is not.
    sys.modules[_NEEDLESS] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401, PLC0415 - for those who import it after this
    finally:
        del sys.modules[_NEEDLESS]
