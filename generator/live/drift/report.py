"""What a comparison of a running cluster with Git found."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

State = Literal["as in Git", "differs", "unknown"]
HOW = Literal["differs", "added", "missing", "leftover", "refused"]


class FieldDrift(Struct, frozen=True, kw_only=True):
    """A field: its place, what Git and the cluster say, as they may be shown, and who wrote it, where that is known."""

    field: str
    git: str
    cluster: str
    by: str


class Drift(Struct, frozen=True, kw_only=True):
    """An object that is not as in Git. `how`: it `differs`, has fields that a person `added` (Argo CD sees no
    difference there), is `missing`, is a `leftover`, or is `refused` as Git has it.
    """

    how: HOW
    component: str
    name: str
    why: str
    command: str
    fields: tuple[FieldDrift, ...] = ()


class DriftReport(Struct, frozen=True, kw_only=True):
    """What differs. `revisions` are the commits that were compared with, `programs` how many fields programs added to
    objects of a component (component, program: number), `namespaces` those that nobody names, `unread` what nobody
    let us see or try, `notes` what else was not compared.
    """

    cluster: str
    host: str
    revisions: tuple[str, ...]
    objects: int
    drifts: tuple[Drift, ...]
    programs: Mapping[tuple[str, str], int]
    namespaces: tuple[str, ...]
    unread: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def state(self) -> State:
        """Whether the cluster is as in Git; what nobody let us see may differ."""
        if self.drifts:
            return "differs"
        return "unknown" if self.unread else "as in Git"

    def data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "cluster": self.cluster,
            "host": self.host,
            "state": self.state,
            "revisions": list(self.revisions),
            "objects": self.objects,
            "drifts": [_data(one) for one in self.drifts],
            "programs": [
                {"component": component, "program": program, "fields": number}
                for (component, program), number in self.programs.items()
            ],
            "namespaces": list(self.namespaces),
            "unread": list(self.unread),
            "notes": list(self.notes),
        }


def _data(one: Drift) -> dict[str, Any]:
    fields = [{key: getattr(each, key) for key in each.__struct_fields__} for each in one.fields]
    return {key: getattr(one, key) for key in one.__struct_fields__} | {"fields": fields}
