"""The kinds of servers where people review changes."""

from typing import Literal, TypeAlias, get_args

ForgeKind: TypeAlias = Literal["github", "gitlab", "gitea"]
FORGE_KINDS: tuple[ForgeKind, ...] = get_args(ForgeKind)


def forge_kind(name: str) -> ForgeKind | None:
    """Return the kind that is called so."""
    return next((kind for kind in FORGE_KINDS if kind == name), None)
