"""Whether a program answers what others ask it for: metrics by their names and labels."""

from scrapedanswers import LABEL, LINE


def lacking(asked: str, answer: str) -> set[str]:
    """Return what is asked for, as series in the form of an answer, and is not in the answer: by its name, or as no
    series of that name has all of its labels.
    """
    there = list(_names(answer))
    return {
        f"{name}{{{', '.join(sorted(labels))}}}"
        for name, labels in _names(asked)
        if not any(name == one and labels <= known for one, known in there)
    }


def _names(answer: str) -> list[tuple[str, frozenset[str]]]:
    found = {
        (parts["name"], frozenset(name for name, _ in LABEL.findall(parts["labels"] or "")))
        for parts in map(LINE.fullmatch, answer.splitlines())
        if parts
    }
    return sorted(found, key=str)
