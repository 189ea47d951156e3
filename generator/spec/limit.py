"""The end of a flood: a file that is wrong all over gets its first findings, not a million of them."""

from collections.abc import Iterable
from itertools import islice

from msgspec import structs

from generator.model.finding import Finding
from generator.spec.text_codes import TOO_MANY

MOST = 1000
"""Findings of one kind (of the text, or of its values) that are told of one file."""


def capped(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; of more than `MOST` only the first ones and a last one that says so. Takes no more than one
    beyond.
    """
    found = list(islice(findings, MOST + 1))
    if len(found) > MOST:
        message = f"more than {MOST} findings: the rest of the file is not told"
        fix = "mend these first; where they are all alike, look whether this is the right file"
        found[MOST] = TOO_MANY.complete(structs.replace(found[MOST], message=message, fix=fix, also=None))
    return found
