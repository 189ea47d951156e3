"""Which refusals a definition that changes with the same commit excuses."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback import Asked, Reply, serving
from loopback import config as kubeconfig
from madeup import definition, widget
from msgspec import structs

from generator.build.objects import Object
from generator.components.component import Manifest
from generator.live.api import of_kubeconfig
from generator.live.dry_run.changing_definitions import Changing

SIZE = {"type": "integer", "maximum": 9}
MODES = {"type": "string", "enum": ["fast"]}
DEEP = {"type": "array", "items": {"type": "object", "properties": {"known": SIZE, "description": SIZE}}}


def having(description: str = "", **fields: Any) -> Manifest:
    """A definition of Widget with these fields of `spec`."""
    spec = {"type": "object", "properties": fields, "description": description}
    version = {"name": "v1", "served": True, "storage": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return definition("Widget", "widgets", versions=[{**version, "schema": schema}])


def answering(old: Manifest | None, new: Manifest | None) -> Callable[[Asked], Reply]:
    """A server that has `old`, and makes `new` of a dry run; None for what the user may not."""

    def reply(asked: Asked) -> Reply:
        found = new if asked.method == "PATCH" else old
        assert asked.method == "GET" or "dryRun=All" in asked.path
        return (
            (200, {}, json.dumps(found).encode())
            if found
            else (403, {}, b'{"kind": "Status", "message": "is forbidden: "}')
        )

    return reply


@contextmanager
def changing(
    folder: Path, old: Manifest | None, new: Manifest, *, may_try: bool = True
) -> Iterator[Callable[..., bool]]:
    """Yield what tells whether the problem of a place is excused."""
    with serving(answering(old, new if may_try else None)) as url:
        found = Changing(of_kubeconfig(kubeconfig(folder, url), None), [Object(new, "", "")])

        def excused(code: str, *at: str | int, **changes: Any) -> bool:
            one = Object({**widget(), **changes}, "", "")
            return found.excuses(one, structs.replace(one.finding("", "spec", *at), code=code))

        yield excused


UNKNOWN, INVALID, DENIED = "GEN-SRV-002", "GEN-SRV-003", "GEN-SRV-005"


@pytest.mark.parametrize("may_try", [True, False])
def test_only_what_the_new_definition_changes_is_excused(*, may_try: bool, tmp_path: Path) -> None:
    old = having(size=SIZE, mode=MODES, list=DEEP)
    wide = {"type": "object", "additionalProperties": SIZE}
    more = {"type": "array", "items": {"type": "object", "properties": {"known": SIZE, "fresh": SIZE}}}
    any_way = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    new = having(size=SIZE, mode={**MODES, "enum": ["fast", "slow"]}, list=more, fresh=SIZE, wide=wide, any=any_way)
    with changing(tmp_path, old, new, may_try=may_try) as excused:
        for at in [("fresh",), ("mode",), ("list", 0, "fresh"), ("wide", "x"), ("any", "x", 0, "y")]:
            assert excused(UNKNOWN, *at), at
        assert excused(INVALID, "mode")
        for at in [("typo",), ("list", 0, "typo"), ("size", "typo")]:
            assert not excused(UNKNOWN, *at), at
        assert not excused(INVALID, "size")
        assert not excused(INVALID, "list", 0, "known")
        assert not excused(DENIED, "fresh")
        assert not excused(UNKNOWN, "fresh", kind="Gadget")
        assert not excused(UNKNOWN, "fresh", apiVersion="example.org/v9")


def test_other_descriptions_are_no_change_and_a_field_of_that_name_is(tmp_path: Path) -> None:
    old = having("as it was", size={**SIZE, "description": "wide"}, list=DEEP)
    new = having("better said", size={**SIZE, "description": "how wide"}, list=DEEP)
    with changing(tmp_path, old, new) as excused:
        assert not excused(INVALID)
        assert not excused(INVALID, "size")
    new = having(list={**DEEP, "items": {"type": "object", "properties": {"known": SIZE}}})
    with changing(tmp_path, old, new) as excused:
        assert excused(INVALID, "list")


def test_the_servers_spelling_of_a_definition_is_no_change(tmp_path: Path) -> None:
    """A server leaves out what says nothing: only what it makes of the new definition can be compared."""
    written = having(size={**SIZE, "nullable": False, "required": []})
    with serving(answering(having(size=SIZE), having(size=SIZE))) as url:
        found = Changing(of_kubeconfig(kubeconfig(tmp_path, url), None), [Object(written, "", "")])
        one = Object(widget(size=10), "", "")
        assert not found.excuses(one, structs.replace(one.finding("", "spec", "size"), code=INVALID))


def test_who_may_not_read_definitions_still_has_new_fields_excused(tmp_path: Path) -> None:
    with changing(tmp_path, None, having(size=SIZE, fresh=SIZE), may_try=False) as excused:
        assert excused(UNKNOWN, "fresh")
        assert not excused(UNKNOWN, "typo")
        assert not excused(INVALID, "size")


def test_a_definition_is_asked_for_once_and_its_name_cannot_lead_elsewhere(tmp_path: Path) -> None:
    paths = []

    def reply(asked: Asked) -> Reply:
        paths.append(asked.path.partition("?")[0])
        return 404, {}, b'{"kind": "Status"}'

    crd = {**having(fresh=SIZE), "metadata": {"name": "../../x?y="}}
    one = Object(widget(fresh=1), "", "")
    with serving(reply) as url:
        found = Changing(of_kubeconfig(kubeconfig(tmp_path, url), None), [Object(crd, "", "")])
        for at in ("fresh", "typo", "fresh"):
            found.excuses(one, structs.replace(one.finding("", "spec", at), code=UNKNOWN))
    assert set(paths) == {"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/..%2F..%2Fx%3Fy%3D"}
    assert len(paths) == 2
