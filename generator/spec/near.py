"""Finding what a mistyped word stands for."""

from collections.abc import Iterable


def near(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` most likely stands for, if any does."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for files that are wrong

    folded = {name.lower().replace("-", "").replace("_", ""): name for name in known}
    found = get_close_matches(word.lower().replace("-", "").replace("_", ""), folded, 1, 0.65)
    return folded[found[0]] if found else None


def instead(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the fix of a mistyped word: the one that is meant, or `otherwise` where none is near."""
    meant = near(word, known)
    return f"write `{meant}`" if meant else otherwise
