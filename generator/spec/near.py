"""Finding what a mistyped word stands for: for keys and names of the cluster file, objects' names, verbs and codes."""

from collections.abc import Collection, Iterable, Iterator


def near(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` most likely stands for, if any does."""
    return next(iter(nearest(word, known, 1)), None)


def did_you_mean(*names: str) -> str:
    """Return the hint that asks whether one of these was meant."""
    return f"did you mean {', '.join(names)}?"


def suggest(word: str, known: Iterable[str], otherwise: str, written: str = "{}") -> str:
    """Return the hint on a mistyped word, `otherwise` where no known word is near; `written` is what to write, with
    `{}` where the known word goes.
    """
    meant = near(word, known)
    return did_you_mean(written.replace("{}", meant, 1)) if meant else otherwise


def there_are(names: Iterable[str]) -> str:
    """Return the hint that names all there are."""
    match list(dict.fromkeys(names)):
        case []:
            return "there is none"
        case [only]:
            return f"there is only {only}"
        case several:
            return f"there are {', '.join(several)}"


def misnamed(given: Collection[str], known: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the given names that are not known, each with the known ones that it may stand for: those that are not
    given themselves, and that no earlier one stands for.
    """
    free = [name for name in known if name not in given]
    for word in given:
        if word not in known:
            yield word, free
            meant = near(word, free)
            free = [name for name in free if name != meant]


def instead(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the fix of a mistyped word: the one that is meant, or `otherwise` where none is near."""
    meant = near(word, known)
    return f"write `{meant}`" if meant else otherwise


def nearest(word: str, known: Iterable[str], most: int) -> list[str]:
    """Return the known words that `word` may stand for, the likeliest first, `most` at the most."""
    from difflib import get_close_matches  # noqa: PLC0415 - only where something is wrong

    folded = {_fold(name): name for name in known}
    return [folded[found] for found in get_close_matches(_fold(word), folded, most, 0.65)]


def slip(word: str, known: Iterable[str]) -> str | None:
    """Return the known name of which `word` is a slip, if it is one: a letter is wrong, missing or too many, or letters
    are swapped. Names that differ by more, or by a figure, are near, and each may be meant: `rbd-hdd` and `rbd-ssd`,
    `rbd-nvme` and `rbd-nvme-2`.
    """
    meant = near(word, known)
    if meant is None or [one for one in word if one.isdigit()] != [one for one in meant if one.isdigit()]:
        return None
    one, other = _fold(word), _fold(meant)
    return meant if sorted(one) == sorted(other) or letters_apart(one, other) == 1 else None


def letters_apart(one: str, other: str) -> int:
    """Return how many letters are put in, left out or changed to make one name of another: the fewest where they are
    few, and never fewer than are needed.
    """
    from difflib import SequenceMatcher  # noqa: PLC0415 - as above

    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return sum(max(end - start, their_end - theirs) for how, start, end, theirs, their_end in steps if how != "equal")


def _fold(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
