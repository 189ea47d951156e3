"""The states of what is vendored. A render that changes nothing reads this: nothing heavy is imported."""

from typing import Literal, TypeAlias

State: TypeAlias = Literal["not vendored", "vendored", "stale"]
"""Whether a component's charts and manifests are committed as objects, and from the inputs of today."""
