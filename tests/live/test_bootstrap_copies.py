"""Copies that bootstrap keeps of what a component made and nobody makes again, and what `gen status` says of them."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster, forbidden, living
from msgspec import structs
from pyrage import decrypt, x25519
from reference import load

from generator.components import compose
from generator.live import kept
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.bootstrap.step import State, Step
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.live.status.copy_causes import copy_causes
from generator.model.secret_store import Escrow

ML50 = load("ml50")
(MONITORS,) = kept.kept_secrets(secret for component in compose(ML50) for secret in component.secrets)
OWNER = [{"apiVersion": "ceph.rook.io/v1", "kind": "CephCluster", "name": "rook-ceph", "uid": "gone"}]
FINALIZERS = ["ceph.rook.io/disaster-protection"]


def made(kind: str, name: str, **data: str) -> dict[str, Any]:
    """Return an object as Rook makes it."""
    metadata = {"name": name, "namespace": "rook-ceph", "finalizers": FINALIZERS, "ownerReferences": OWNER}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}


def secret(key: str) -> dict[str, Any]:
    values = {"ceph-secret": key, "ceph-username": "client.admin", "fsid": "3f271841", "mon-secret": "other"}
    data = {name: base64.b64encode(value.encode()).decode() for name, value in values.items()}
    return {**made("Secret", "rook-ceph-mon", **data), "type": "kubernetes.io/rook"}


def endpoints(monitors: str, out: str = "") -> dict[str, Any]:
    return made("ConfigMap", "rook-ceph-mon-endpoints", data=monitors, mapping="{}", maxMonId="2", outOfQuorum=out)


class Person:
    """Somebody who runs bootstrap where Ceph may be."""

    def __init__(self, folder: Path, running: RunningCluster) -> None:
        self.identity, self.running = x25519.Identity.generate(), running
        site = structs.replace(ML50.site, escrow=Escrow(recipients=(str(self.identity.to_public()),)))
        self.cluster = structs.replace(ML50, site=site)
        self.file: Path | None = folder / "escrow"
        self.values = Values(folder, {}, None)

    def step(self) -> Step:
        return secrets_step(self.running, self.cluster, [MONITORS], Keeping(values=self.values, escrow=self.file))

    def run(self) -> list[str]:
        return list(self.step().act())

    def copies(self) -> list[dict[str, Any]]:
        assert self.file
        blocks = re.findall(r"-----BEGIN AGE[^#]*", self.file.read_text())
        return [json.loads(decrypt(one.encode(), [self.identity])) for one in blocks]

    def causes(self) -> list[str]:
        return [one.why for one in copy_causes(self.running, self.cluster, [MONITORS])]


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[LiveCluster, Person]]:
    with living(tmp_path, record(ML50)) as (cluster, running):
        yield cluster, Person(tmp_path, running)


Both = tuple[LiveCluster, Person]


def test_before_ceph_is_there_nothing_is_copied_or_told(both: Both) -> None:
    cluster, person = both
    for there in ([], [secret("a")]):
        for one in there:
            cluster.add(one)
        (item,) = person.step().items
        assert (item.state, person.run(), person.causes()) == (State.LATER, [], [])
        assert "--escrow FILE" in item.what


def test_what_is_copied_makes_the_same_objects_in_another_cluster(both: Both) -> None:
    cluster, person = both
    for one in (secret("a"), endpoints("a=10.20.0.131:3300")):
        cluster.add(one)
    assert person.causes() == [
        "no copy of it was ever made outside the cluster: with it and etcd lost, so is what its disks hold"
    ]
    assert person.step().pending
    assert person.run() == [f"rook-ceph/rook-ceph-mon: encrypted copy added to {person.file}"]
    (copy,) = person.copies()
    wanted = [secret("a"), endpoints("a=10.20.0.131:3300")]
    for one in wanted:
        del one["metadata"]["ownerReferences"]
    assert (copy["kind"], copy["items"]) == ("List", wanted)
    (item,) = person.step().items
    assert (item.state, person.run(), person.causes()) == (State.DONE, [], [])
    assert person.file
    assert person.file.stat().st_mode & 0o777 == 0o600
    person.file = None
    assert person.step().items[0].state == State.DONE


@pytest.mark.parametrize("changed", ["the key", "the monitors", "the file"])
def test_what_changed_is_copied_once_more(changed: str, both: Both, tmp_path: Path) -> None:
    cluster, person = both
    for one in (secret("a"), endpoints("a=10.20.0.131:3300")):
        cluster.add(one)
    person.run()
    if changed == "the key":
        cluster.add(secret("b"))
    elif changed == "the monitors":
        cluster.add(endpoints("d=10.20.0.134:3300"))
        assert person.causes() == [
            "what goes along with it has changed since it was copied: with it and etcd lost, so is what its disks hold"
        ]
    else:
        person.file = tmp_path / "another"
    assert person.step().pending
    person.run()
    newest = person.copies()[-1]["items"]
    assert newest[0]["data"] == cluster.get("Secret", "rook-ceph-mon")["data"]
    assert newest[1]["data"] == cluster.get("ConfigMap", "rook-ceph-mon-endpoints")["data"]
    assert person.causes() == []


def test_a_monitor_that_restarts_asks_for_no_copy(both: Both) -> None:
    cluster, person = both
    for one in (secret("a"), endpoints("a=10.20.0.131:3300")):
        cluster.add(one)
    person.run()
    cluster.add(endpoints("a=10.20.0.131:3300", out="a"))
    assert (person.step().pending, person.causes()) == (False, [])


def test_no_value_of_the_secret_nor_anything_made_of_it_is_noted(both: Both) -> None:
    cluster, person = both
    cluster.add_namespace("rook-ceph")
    notes = []
    for key in ("a", "b"):
        cluster.version = 100
        for one in (secret(key), endpoints("a=10.20.0.131:3300")):
            cluster.add(one)
        person.run()
        notes.append(cluster.get("ConfigMap", "gen")["data"]["copy.rook-ceph.rook-ceph-mon"])
    assert notes[0] == notes[1]


def test_without_a_file_or_people_nothing_waits_and_it_is_said(both: Both) -> None:
    cluster, person = both
    for one in (secret("a"), endpoints("a=10.20.0.131:3300")):
        cluster.add(one)
    file, person.file = person.file, None
    (item,) = person.step().items
    assert (item.state, person.run()) == (State.LATER, [])
    assert item.what == "rook-ceph/rook-ceph-mon has no copy outside the cluster: --escrow FILE keeps one"
    person.file = file
    nobody = structs.replace(ML50.site, escrow=Escrow())
    person.cluster = structs.replace(ML50, site=nobody)
    (item,) = person.step().items
    assert (item.state, person.run()) == (State.LATER, [])
    assert "name age keys in site.escrow.recipients" in item.what


def test_a_file_that_takes_nothing_waits_for_a_person(both: Both, tmp_path: Path) -> None:
    cluster, person = both
    for one in (secret("a"), endpoints("a=10.20.0.131:3300")):
        cluster.add(one)
    person.file = tmp_path
    assert "is a folder; name a file in it" in person.step().blocked[0]


def test_who_may_not_read_where_monitors_are_is_told_nothing(both: Both) -> None:
    cluster, person = both
    cluster.add(endpoints("a=10.20.0.131:3300"))
    assert person.causes()
    cluster.refuses["GET .*/rook-ceph-mon-endpoints"] = forbidden("get", "configmaps")
    assert person.causes() == []
