"""Every code that a finding may bear, and what it means."""

from generator.checks import FLEET_RULES, RULES
from generator.spec import codes
from generator.spec.codes import Explained


def explanations() -> dict[str, Explained]:
    """Return what `gen explain` tells, by code."""
    return {**codes.explanations(), **RULES, **FLEET_RULES}
