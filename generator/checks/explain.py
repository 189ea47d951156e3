"""Every code that a finding may bear, and what it means."""

from generator.checks import FLEET_RULES, RULES
from generator.spec.codes import CODES, Explained
from generator.spec.schema_codes import SCHEMA_CODES

__all__ = ["explanations"]


def explanations() -> dict[str, Explained]:
    """Return what `gen explain` tells, by code."""
    return {**CODES, **SCHEMA_CODES, **RULES, **FLEET_RULES}
