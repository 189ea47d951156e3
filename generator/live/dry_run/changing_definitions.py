"""Definitions that change with the objects judged: what the server refuses by the old one may be right by the new."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from generator.build.kinds import defined_kind, served_by
from generator.build.objects import Object
from generator.components.component import Manifest
from generator.live.api import Answer, ApiConnection, Request
from generator.live.discovery import TRY
from generator.live.dry_run.definitions import PLACE
from generator.live.dry_run.refusals import INVALID, UNKNOWN
from generator.model.fields import dig, mapping
from generator.model.finding import Finding, Path

_ANYTHING = "x-kubernetes-preserve-unknown-fields"


class Changing:
    """The definitions among the objects judged, against those that the server has; a server is asked about one only
    when an object of it was refused.
    """

    def __init__(self, api: ApiConnection, definitions: Iterable[Object]) -> None:
        self._api = api
        self._coming = {defined_kind(one.manifest): one for one in definitions}
        self._asked: dict[str, tuple[Answer, Manifest]] = {}

    def excuses(self, one: Object, finding: Finding) -> bool:
        """Tell whether a refusal means nothing: with the new definition, what is refused has another schema. Where a
        user may not read definitions, that is only certain of a field that the server does not know.
        """
        crd = self._coming.get((one.group, one.kind))
        if crd is None or finding.code not in {UNKNOWN.code, INVALID.code}:
            return False
        old, new = self._old_and_new(crd)
        if not old.good and finding.code == INVALID.code:
            return False
        version = one.version.rpartition("/")[2]
        return _schema_at(old.body, version, finding.at) != _schema_at(new, version, finding.at)

    def _old_and_new(self, crd: Object) -> tuple[Answer, Manifest]:
        """Return what the server has, and what it would have, in the server's own spelling if it takes it."""
        if crd.name not in self._asked:
            path = f"{PLACE}/{quote(crd.name, safe='')}"
            old = self._api.ask(Request(path=path))
            new = self._api.ask(Request(path=f"{path}?{TRY}&force=true", method="PATCH", body=crd.manifest))
            self._asked[crd.name] = old, (new.body if new.good else crd.manifest)
        return self._asked[crd.name]


def _schema_at(crd: Manifest, version: str, at: Path) -> object:
    """Return the schema of what lies at a path into an object, without descriptions; None where there is none."""
    schema: Any = dig(served_by(crd).get(version), "schema", "openAPIV3Schema")
    for step in at:
        schema = _below(schema, step)
    return _undescribed(schema)


def _below(schema: Any, step: str | int) -> Any:
    known = dig(schema, "items") if isinstance(step, int) else mapping(dig(schema, "properties")).get(step)
    if known is None:
        known = dig(schema, "additionalProperties")
    return {_ANYTHING: True} if known is None and dig(schema, _ANYTHING) else known


def _undescribed(schema: object) -> object:
    if isinstance(schema, list):
        return [_undescribed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    # A field may be called `description`: it then has a schema, no text.
    return {
        key: _undescribed(value) for key, value in schema.items() if key != "description" or not isinstance(value, str)
    }
