"""What must hold for every valid cluster."""

import hashlib
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from msgspec import structs
from reference import ROOT, load
from ruamel.yaml import YAML
from validation.build import Loader, build
from validation.verdicts import verdicts

from clusters import clusters
from generator.checks import check
from generator.components import compose
from generator.layout.emit import emit
from generator.layout.tree import Tree, lay_out
from generator.layout.waves import waves
from generator.model.cluster import Cluster
from generator.model.finding import Path as Steps
from generator.model.finding import Severity
from generator.model.teams import Quota, Team
from generator.spec.decode import decode
from generator.spec.edit import insert_items, remove_items, set_value
from generator.spec.reader import read

NODES = ("spec", "nodes")
FEW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def cluster_of(value: Any) -> Cluster:
    return decoded(emit(value))


def decoded(text: str) -> Cluster:
    document = read(text, "f")
    assert not document.findings
    cluster = decode(document)
    assert isinstance(cluster, Cluster), cluster
    return cluster


@cache
def ml50_text() -> str:
    return (ROOT / "clusters/ml50/cluster.yaml").read_text()


@cache
def ml50_tree() -> Tree:
    return lay_out(load("ml50"))


def differing(one: Tree, two: Tree) -> list[str]:
    return sorted(path for path in one.files.keys() | two.files.keys() if one.files.get(path) != two.files.get(path))


# Every valid cluster


@settings(FEW, max_examples=150)
@given(clusters())
def test_a_valid_cluster_has_no_errors_and_is_laid_out(value: dict[str, Any]) -> None:
    cluster = cluster_of(value)
    assert [each for each in check(cluster) if each.severity == Severity.ERROR] == []
    tree = lay_out(cluster)
    components = compose(cluster)
    assert set(waves(components)) == {one.name for one in components}
    assert not tree.files.keys() & tree.once.keys()
    for name in ("ceph", "objects", "scratch"):
        event(f"{name}: {getattr(cluster.storage, name) is not None}")


@settings(FEW, max_examples=60)
@given(clusters())
def test_its_files_have_names_that_every_machine_takes(value: dict[str, Any]) -> None:
    tree = lay_out(cluster_of(value))
    paths = [*tree.files, *tree.once]
    assert len({path.casefold() for path in paths}) == len(paths)
    for path in paths:
        assert not set(path) & set('<>:"|?*\\ '), path
        assert all(len(part) < 256 for part in path.split("/"))


@settings(FEW, max_examples=60)
@given(clusters())
def test_its_bases_are_those_of_another_cluster(value: dict[str, Any]) -> None:
    own, other = lay_out(cluster_of(value)).files, ml50_tree().files
    shared = [path for path in own.keys() & other.keys() if path.startswith(("base/", "workflows/"))]
    assert len(shared) > 3
    assert [path for path in shared if own[path] != other[path]] == []


PROVEN: set[str] = set()


def alike(content: str) -> bool:
    """Tell whether a YAML 1.1 and a YAML 1.2 reader see the same."""
    one = list(yaml.load_all(content, Loader=Loader))
    return repr(one) == repr(list(YAML(typ="safe", pure=True).load_all(content)))


@settings(FEW, max_examples=12)
@given(clusters())
def test_its_files_are_read_alike_by_all(value: dict[str, Any]) -> None:
    tree = lay_out(cluster_of(value))
    for path, content in (tree.files | tree.once).items():
        text = content.decode()
        if path.endswith(".yaml") and text not in PROVEN:
            assert alike(text), path
            PROVEN.add(text)


@settings(FEW, max_examples=100)
@given(clusters())
def test_its_objects_have_names(value: dict[str, Any]) -> None:
    for component in compose(cluster_of(value)):
        templates = [template for operation in component.operations for template in operation.templates]
        for manifest in (*component.base, *component.objects, *templates):
            assert manifest["apiVersion"]
            assert manifest["kind"]
            assert 0 < len(manifest["metadata"]["name"]) < 254


@settings(FEW, max_examples=12)
@given(clusters())
def test_its_objects_are_what_schemas_take_and_name_what_is_there(value: dict[str, Any]) -> None:
    cluster = cluster_of(value)
    with TemporaryDirectory() as folder:
        built = build(cluster, Path(folder), quickly=True)
    assert verdicts(built) == []


# What rendering depends on


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return the same value with the keys of every map in another order."""
    if isinstance(value, list):
        return [shuffled(each, chance) for each in value]
    if not isinstance(value, dict):
        return value
    keys = chance.sample([*value], len(value))
    return {key: shuffled(value[key], chance) for key in keys}


@settings(FEW, max_examples=60)
@given(clusters(), st.randoms(use_true_random=False))
def test_rendering_does_not_depend_on_the_order_of_keys(value: dict[str, Any], chance: random.Random) -> None:
    assert differing(lay_out(cluster_of(value)), lay_out(cluster_of(shuffled(value, chance)))) == []


RENDER = """
import hashlib, os, random, sys, time
from pathlib import Path
from tempfile import TemporaryDirectory
from generator.layout.tree import lay_out
from generator.spec.decode import decode
from generator.spec.reader import read

def refuse(*args, **kwargs):
    raise AssertionError("rendering asks for something outside")

cluster = decode(read(Path(sys.argv[1]).read_bytes(), "f"))
time.time = time.localtime = time.gmtime = os.getcwd = os.urandom = random.random = refuse
os.environ.clear()
tree = lay_out(cluster)
found = hashlib.sha256()
for path, content in sorted((tree.files | tree.once).items()):
    found.update(path.encode() + content)
print(found.hexdigest())
"""


def test_rendering_depends_on_nothing_outside(tmp_path: Path) -> None:
    digests = set()
    for seed, zone, folder in (("0", "UTC", ROOT), ("1", "Asia/Seoul", tmp_path)):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(ROOT), "LC_ALL": "C"}
        command = [sys.executable, "-c", RENDER, str(ROOT / "clusters/ml50/cluster.yaml")]
        digests.add(subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True).stdout)
    found = hashlib.sha256()
    for path, content in sorted((ml50_tree().files | ml50_tree().once).items()):
        found.update(path.encode() + content)
    assert digests == {f"{found.hexdigest()}\n"}


# Edits


NODE = {"name": "gpu-99", "pool": "gpu-training", "address": "10.10.0.199", "rack": "r1"}


@settings(FEW, max_examples=20)
@given(st.integers(0, 49))
def test_a_node_that_comes_and_goes_leaves_nothing_behind(after: int) -> None:
    longer = insert_items(ml50_text(), NODES, [NODE], after=after)
    assert lines_changed(ml50_text(), longer) == (0, 1)
    tree = lay_out(decoded(longer))
    assert any("gpu-99" in path for path in tree.files)
    assert not [path for path in ml50_tree().files if path not in tree.files]
    shorter = remove_items(longer, NODES, [after + 1])
    assert shorter == ml50_text()
    assert differing(lay_out(decoded(shorter)), ml50_tree()) == []


@settings(FEW, max_examples=40)
@given(clusters(), st.data())
def test_so_it_does_in_every_cluster(value: dict[str, Any], data: st.DataObject) -> None:
    text = emit(value)
    at = data.draw(st.integers(0, len(value["spec"]["nodes"]) - 1))
    added = {**value["spec"]["nodes"][at], "name": "another", "address": "10.10.0.99"}
    longer = insert_items(text, NODES, [added], after=at)
    assert lines_changed(text, longer)[0] == 0
    assert [node.name for node in decoded(longer).nodes][at + 1] == "another"
    assert remove_items(longer, NODES, [at + 1]) == text


def lines_changed(old: str, new: str) -> tuple[int, int]:
    """Return how many lines were taken out and put in, between what both begin and end with."""
    before, after = old.splitlines(), new.splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return len(before), len(after)


def quotas(cluster: Cluster) -> Iterator[tuple[Team, str, Quota]]:
    for team in cluster.teams:
        for pool, quota in team.quotas.items():
            yield team, pool, quota


def test_a_teams_quota_is_written_in_that_teams_files_alone(ml50: Cluster) -> None:
    for team, pool, quota in quotas(ml50):
        less = structs.replace(quota, gpus=quota.gpus - 1) if quota.gpus else structs.replace(quota, cpus=1)
        changed = structs.replace(team, quotas={**team.quotas, pool: less})
        others = tuple(changed if each is team else each for each in ml50.teams)
        tree = lay_out(structs.replace(ml50, teams=others))
        paths = differing(tree, ml50_tree())
        assert any(team.name in path for path in paths)
        # What one team gives up is the cohort's, and what nobody owns is told when the pool grows.
        others_files = re.compile(r"/cohort-|/node-operations/configmap-nodes-")
        assert [path for path in paths if team.name not in path and not others_files.search(path)] == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "networks", "node", "mtu"), 1500),
        (("spec", "scheduling", "startMinutes"), 15),
        (("spec", "teams", 0, "storage"), "100Ti"),
    ],
)
def test_an_edit_of_one_value_changes_one_line(path: Steps, value: Any) -> None:
    edited = set_value(ml50_text(), path, value)
    assert lines_changed(ml50_text(), edited) == (1, 1)
    assert differing(lay_out(decoded(edited)), ml50_tree())
