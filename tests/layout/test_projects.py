"""What projects allow: the same whichever components a cluster has, and each tier nothing of another one's."""

from typing import Any

import pytest
import yaml
from msgspec import structs
from reference import load

from generator.components import CATALOGUE, compose
from generator.components.component import Component, Tier
from generator.layout.projects import own_manifests
from generator.layout.tree import lay_out
from generator.model.cluster import Adopt, Cluster, ComponentSettings

ML50 = load("ml50")
NAMES = sorted(component.name for component in compose(ML50))
FOLDER = "clusters/{}/argocd"
Allowed = tuple[set[str], set[str]]


def without(cluster: Cluster, *names: str) -> Cluster:
    """Return the cluster as its file is when somebody else installs these."""
    gone = {name: structs.replace(cluster.settings(name), managed=False) for name in names}
    return structs.replace(cluster, components={**cluster.components, **gone})


def projects(cluster: Cluster) -> dict[str, Allowed]:
    """Return the namespaces, "" for none, and cluster-scoped kinds that each project allows."""
    files = lay_out(cluster).files
    start = f"{FOLDER.format(cluster.name)}/appproject-"
    read = [yaml.load(content, yaml.CSafeLoader) for path, content in files.items() if path.startswith(start)]
    return {one["metadata"]["name"]: allowed(one["spec"]) for one in read}


def allowed(spec: dict[str, Any]) -> Allowed:
    spaces = {entry.get("namespace", "") for entry in spec["destinations"]}
    return spaces, {f"{entry['group']}/{entry['kind']}" for entry in spec["clusterResourceWhitelist"]}


def used(component: Component) -> Allowed:
    """Return what a component writes: its own objects, and what is known of its charts."""
    own = own_manifests(component)
    spaces = {space for one in own if (space := one["metadata"].get("namespace"))} | {*component.reach}
    spaces |= {release.namespace for release in component.releases}
    kinds = {
        f"{one['apiVersion'].rpartition('/')[0]}/{one['kind']}" for one in own if "namespace" not in one["metadata"]
    }
    return spaces, kinds | {*component.kinds}


def application(cluster: Cluster, name: str) -> Any:
    return yaml.load(
        lay_out(cluster).files[f"{FOLDER.format(cluster.name)}/application-{name}.yaml"], yaml.CSafeLoader
    )["spec"]


@pytest.mark.parametrize("name", sorted({*NAMES} - {"argo-cd", "tenants"}))
def test_what_a_removed_component_wrote_may_still_be_deleted(name: str) -> None:
    """Argo CD reads the new projects before it deletes the old objects, and what they refuse stays."""
    removed = next(component for component in compose(ML50) if component.name == name)
    was = application(ML50, name)
    spaces, kinds = projects(without(ML50, name))[was["project"]]
    used_spaces, used_kinds = used(removed)
    assert used_spaces | {was["destination"].get("namespace", "")} <= spaces
    assert used_kinds <= kinds


def test_the_tenants_without_teams_may_still_be_deleted() -> None:
    """Their namespaces are whatever is not the platform's."""
    (tenants,) = (component for component in compose(ML50) if component.name == "tenants")
    spaces, kinds = projects(structs.replace(ML50, teams=()))[Tier.TENANTS.value]
    assert "*" in spaces
    assert not {f"!{space}" for space in used(tenants)[0]} & spaces
    assert used(tenants)[1] <= kinds


def test_projects_do_not_depend_on_what_is_installed(ml50: Cluster, a30: Cluster) -> None:
    names = [name for name in CATALOGUE if name != "argo-cd"]
    assert projects(a30) == projects(ml50) == projects(without(ml50, *names)) == projects(without(a30, *names))


def test_a_tier_keeps_its_project_when_its_last_component_goes(a30: Cluster) -> None:
    """An Application cannot be deleted with its objects when its project is gone."""
    assert {tier.value for tier in Tier} <= projects(without(a30, "scratch")).keys()


def test_an_adopted_release_is_deleted_where_it_lies(ml50: Cluster) -> None:
    adopted = ComponentSettings(adopt=Adopt(release="old", namespace="old-volcano"))
    there = structs.replace(ml50, components={**ml50.components, "volcano": adopted})
    assert "old-volcano" in projects(there)["scheduling"][0]
    assert "old-volcano" in projects(without(there, "volcano"))["scheduling"][0]
    assert "!old-volcano" in projects(without(there, "volcano"))["tenants"][0]


def test_each_tier_is_closed_towards_the_others(ml50: Cluster) -> None:
    found = projects(ml50)
    assert {name for name, (spaces, _) in found.items() if "argocd" in spaces} == {"gitops", "root"}
    assert {name for name, (_, kinds) in found.items() if "/Namespace" in kinds} == {"namespaces"}
    # Monitoring: the NFS export that dumps of Zabbix may go to.
    assert {name for name, (_, kinds) in found.items() if "/PersistentVolume" in kinds} == {"monitoring", "storage"}
    assert {name for name, (spaces, _) in found.items() if "*" in spaces} == {"tenants"}
    own = {tier.value: {*found[tier.value][0]} - {"", "kube-system"} for tier in Tier if tier != Tier.TENANTS}
    shared = {space for one in own for other in own if one < other for space in own[one] & own[other]}
    # Zabbix reads the metrics of GPUs through a Service of its own there.
    assert shared == {"gpu-operator"}
    closed = {space for spaces in own.values() for space in spaces if not space.startswith("kube-")}
    assert {"!kube-*", *(f"!{space}" for space in closed)} <= found["tenants"][0]


def test_tenants_bring_roles_and_admission_policies_alone(ml50: Cluster) -> None:
    kinds = {kind.rpartition("/")[2] for kind in projects(ml50)["tenants"][1]}
    policies = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    assert kinds == {"ClusterRole", "ClusterRoleBinding", *policies}
