"""What a reference leads to."""

from typing import NamedTuple, TypeAlias

from generator.build.workflow_pods import GIVEN
from generator.components.operated import OWN
from generator.model.finding import Path, full_name


class Target(NamedTuple):
    """What is named. A `key` is asked for only in ConfigMaps and Secrets. Without a `name` nothing is."""

    kind: str
    namespace: str
    name: str
    key: str = ""

    @property
    def full_name(self) -> str:
        """How people name it."""
        return full_name(self.kind, self.namespace, self.name)


Found: TypeAlias = tuple[Path, Target]
"""What is named, and where in the object."""


def place(namespace: str, own: str) -> str:
    """Return the namespace of what an object in the namespace `own` names or becomes."""
    return own if namespace == OWN else namespace


def target(kind: str, namespace: str, name: object, key: object = "") -> Target:
    """Return a target; without a name where there is none, or none that is known before somebody runs it."""
    known = isinstance(name, str) and not any(sign in name for sign in (GIVEN, "{{", "$("))
    return Target(kind, namespace, str(name) if known else "", key if isinstance(key, str) else "")
