"""Where everything goes: overlays, bases, Applications, projects, namespaces."""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import pytest
import yaml
from msgspec import structs
from mutations import WRONG, name_of
from reference import ROOT, load

from generator.components import CATALOGUE, compose
from generator.components.component import Component, Namespace, Patch, Tier, protect
from generator.layout.argocd import argocd
from generator.layout.files import objects
from generator.layout.overlay import base, overlay
from generator.layout.tree import Tree, lay_out, merge
from generator.layout.waves import CycleError, waves
from generator.model.cluster import Adopt, Cluster, ComponentSettings
from generator.repository.cluster_files import examine
from generator.spec.reader import read as parsed


def read(tree: Tree, path: str) -> Any:
    return yaml.load({**tree.files, **tree.once}[path], yaml.CSafeLoader)


def component(name: str, *needs: str, **fields: Any) -> Component:
    return Component(name=name, tier=Tier.PLATFORM, summary=name, version="1", needs=needs, **fields)


def configmap(name: str, namespace: str = "a") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


def with_settings(cluster: Cluster, name: str, **settings: Any) -> Cluster:
    return structs.replace(cluster, components={name: ComponentSettings(**settings)})


def test_every_component_has_a_base_an_overlay_a_corner_and_an_application(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        tree = lay_out(cluster)
        for one in compose(cluster):
            for path in (
                f"base/{one.name}/{one.version}/kustomization.yaml",
                f"overlays/{cluster.name}/{one.name}/kustomization.yaml",
                f"clusters/{cluster.name}/argocd/application-{one.name}.yaml",
            ):
                assert path in tree.files
            assert f"overlays/{cluster.name}/{one.name}/custom/kustomization.yaml" in tree.once


def test_every_line_of_the_catalogue_is_used(ml50: Cluster, a30: Cluster) -> None:
    clusters = (ml50, a30, load("gpu-serving"))
    unused = [name for name, one in CATALOGUE.items() if not any(map(one.wanted, clusters))]
    # Three clusters are none, keep no copies of datasets, have no volume backed up, own their machines and serve no
    # team on Calico: their tests have clusters of their own.
    assert unused == ["dataset-cache", "volsync", "cluster-autoscaler", "envoy-gateway", "fleet"]


def test_files_are_named_by_kustomizations_and_nothing_else(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    for path in tree.files:
        if not path.endswith("/kustomization.yaml"):
            continue
        folder = PurePosixPath(path).parent
        content = read(tree, path)
        named = {*content.get("resources", ()), *(chart["valuesFile"] for chart in content.get("helmCharts", ()))}
        beside = {PurePosixPath(other).name for other in tree.files if PurePosixPath(other).parent == folder}
        assert beside - {"kustomization.yaml"} == {name for name in named if "/" not in name and "." in name}, path


def test_top_kustomizations_hold_only_resources_and_components(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    for one in compose(ml50):
        content = read(tree, f"overlays/ml50/{one.name}/kustomization.yaml")
        assert set(content) == {"apiVersion", "kind", "resources", "components"}
        assert content["components"][-1] == "custom"


def test_a_file_says_what_to_edit_instead(ml50: Cluster) -> None:
    for path, content in lay_out(ml50).files.items():
        lines = content.decode().splitlines()
        assert "Written by gen" in (lines[1] if lines[0].startswith("#!") else lines[0]), path


def test_no_generated_file_depends_on_the_order_of_the_teams_or_the_run(ml50: Cluster) -> None:
    assert lay_out(ml50).files == lay_out(ml50).files


def test_bases_are_the_same_for_all_clusters(ml50: Cluster, a30: Cluster) -> None:
    merged = merge([lay_out(ml50), lay_out(a30)])
    assert set(merged.components) == {"ml50", "a30-bench"}
    assert len([path for path in merged.files if path.startswith("base/")]) > 40


def test_what_clusters_share_depends_on_none_of_what_they_have() -> None:
    """Two clusters of one repository may differ in all that a cluster file can say."""
    held: dict[str, tuple[str, bytes]] = {}
    for file in (*sorted((ROOT / "clusters").glob("*/cluster.yaml")), *sorted((WRONG / "valid").glob("*.yaml"))):
        content = file.read_bytes()
        cluster = examine(content, file.name, name_of(parsed(content, file.name).value)).cluster
        assert cluster, file
        for path, laid in lay_out(cluster).files.items():
            if path.startswith(("base/", "workflows/")):
                first, before = held.setdefault(path, (file.name, laid))
                assert laid == before, f"{path} of {file.name} is not that of {first}"


def test_a_base_that_differs_is_a_mistake_of_ours(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    other = structs.replace(tree, files={"base/kueue/v0.18.3/kustomization.yaml": b"other"})
    with pytest.raises(ValueError, match=r"base/kueue/v0.18.3/kustomization.yaml is not the same"):
        merge([tree, other])


def test_a_base_is_what_its_component_says_whatever_it_said_of_the_cluster_before() -> None:
    objects = (
        configmap("x"),
        {**configmap("x"), "data": {"a": "1", "b": "2"}},
        {"data": {"b": "2", "a": "1"}, **configmap("x")},
    )
    made = [base(component("x", base=(one,)))["base/x/1/configmap-x.yaml"].decode() for one in (*objects, objects[0])]
    assert [yaml.safe_load(text) for text in made] == [*objects, objects[0]]
    assert len({*made}) == 3


def test_two_objects_of_one_name_in_two_namespaces_are_two_files() -> None:
    names, files = objects("x", [configmap("m", "a"), configmap("m", "b"), configmap("n")], "y")
    assert names == ["configmap-m.a.yaml", "configmap-m.b.yaml", "configmap-n.yaml"]
    assert len(files) == 3
    with pytest.raises(ValueError, match="two objects"):
        objects("x", [configmap("m", "a"), configmap("m", "a")], "y")


def test_a_name_with_colons_is_a_file_everywhere() -> None:
    role = {"kind": "ClusterRole", "metadata": {"name": "gen:team-member"}}
    assert objects("x", [role], "y")[0] == ["clusterrole-gen-team-member.yaml"]


def test_waves_follow_needs() -> None:
    found = waves([component("a", "b"), component("b", "c"), component("c"), component("d", "c", "a")])
    assert found == {"a": 3, "b": 2, "c": 1, "d": 4}


def test_a_secret_that_another_component_makes_is_a_need(ml50: Cluster) -> None:
    declared = [secret for one in compose(ml50) for secret in one.secrets if secret.by]
    assert declared
    found = waves(compose(ml50))
    for one in compose(ml50):
        for secret in one.secrets:
            if secret.by and secret.by != one.name:
                assert found[one.name] > found[secret.by]


def test_a_cycle_is_named() -> None:
    with pytest.raises(CycleError, match=r"^b -> c -> b$"):
        waves([component("a", "b"), component("b", "c"), component("c", "b")])


def test_needs_name_components_of_the_cluster(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        made = compose(cluster)
        for one in made:
            assert set(one.needs) <= {other.name for other in made}, one.name


def test_everything_with_pods_waits_for_the_pod_network(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        found = waves(compose(cluster))
        later = [name for name, wave in found.items() if wave > found[cluster.networks.cni]]
        assert set(found) - set(later) == {cluster.networks.cni, "argo-cd"} - set(later)


def test_waves_are_on_the_applications(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    found = waves(compose(ml50))
    for name, wave in found.items():
        metadata = read(tree, f"clusters/ml50/argocd/application-{name}.yaml")["metadata"]
        assert metadata["annotations"]["argocd.argoproj.io/sync-wave"] == str(wave)
        assert "Prune=confirm" in metadata["annotations"]["argocd.argoproj.io/sync-options"]
    spaces = read(tree, "clusters/ml50/argocd/application-namespaces.yaml")["metadata"]["annotations"]
    assert spaces["argocd.argoproj.io/sync-wave"] == "0"


def test_applications_with_data_keep_it_when_they_are_deleted(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    for name in ("ceph-cluster", "minio", "rook-ceph", "cilium", "argo-cd", "namespaces", "tenants"):
        assert "finalizers" not in read(tree, f"clusters/ml50/argocd/application-{name}.yaml")["metadata"]
    kueue = read(tree, "clusters/ml50/argocd/application-metrics-server.yaml")["metadata"]
    assert kueue["finalizers"] == ["resources-finalizer.argocd.argoproj.io"]


def test_the_root_does_not_wait_for_itself(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    assert "application-root.yaml" not in read(tree, "clusters/ml50/argocd/kustomization.yaml")["resources"]
    root = read(tree, "clusters/ml50/bootstrap/application-root.yaml")
    assert root["spec"]["source"]["path"] == "clusters/ml50/argocd"
    assert "finalizers" not in root["metadata"]
    # One child that is not healthy must not hold a change of another.
    assert "ApplyOutOfSyncOnly=true" in root["spec"]["syncPolicy"]["syncOptions"]


def test_all_namespaces_are_in_one_overlay_and_protected(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    wanted = {space.name: space.security for one in compose(ml50) for space in one.namespaces if space.security}
    listed = read(tree, "overlays/ml50/namespaces/kustomization.yaml")["resources"]
    found = {}
    for name in listed:
        space = read(tree, f"overlays/ml50/namespaces/{name}")
        found[space["metadata"]["name"]] = space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        annotations = space["metadata"]["annotations"]
        assert annotations["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
        assert annotations["argocd.argoproj.io/compare-options"] == "IgnoreExtraneous"
    assert found == wanted
    kinds = Counter(
        read(tree, path)["kind"]
        for path in tree.files
        if path.startswith(("overlays/", "base/")) and "releases" not in path
    )
    assert kinds["Namespace"] == len(wanted)


def test_components_that_share_a_namespace_agree_on_its_level(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        levels: dict[str, set[str | None]] = {}
        for one in compose(cluster):
            for space in one.namespaces:
                levels.setdefault(space.name, set()).add(space.security)
        assert {name: found for name, found in levels.items() if len(found) > 1} == {}


def test_projects_allow_what_their_components_write_and_no_more(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    storage = read(tree, "clusters/ml50/argocd/appproject-storage.yaml")["spec"]
    spaces = {entry["namespace"] for entry in storage["destinations"]}
    assert {"rook-ceph", "minio"} <= spaces
    assert not spaces & {"*", "argocd", "kueue-system", "vision"}
    closed = read(tree, "clusters/ml50/argocd/appproject-default.yaml")["spec"]
    assert closed["sourceRepos"] == []
    assert closed["destinations"] == closed["clusterResourceWhitelist"] == []
    every = [read(tree, path) for path in tree.files if path.startswith("clusters/ml50/argocd/appproject-")]
    assert "default" not in {each.get("namespace") for one in every for each in one["spec"]["destinations"]}
    only = read(tree, "clusters/ml50/argocd/appproject-root.yaml")["spec"]["namespaceResourceWhitelist"]
    assert {entry["kind"] for entry in only} == {"Application", "AppProject"}


def test_the_tenants_project_does_not_depend_on_the_list_of_teams(ml50: Cluster) -> None:
    path = "clusters/ml50/argocd/appproject-tenants.yaml"
    one_less = structs.replace(ml50, teams=ml50.teams[1:])
    assert read(lay_out(ml50), path)["spec"] == read(lay_out(one_less), path)["spec"]
    spaces = {entry["namespace"] for entry in read(lay_out(ml50), path)["spec"]["destinations"]}
    assert {"*", "!default", "!kube-*", "!argocd", "!rook-ceph", "!kueue-system"} <= spaces
    assert not {team.name for team in ml50.teams} & {space.removeprefix("!") for space in spaces}


def test_only_what_another_component_needs_holds_up_a_wave(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    components = compose(ml50)
    needs = {need for one in components for need in one.needs}
    needs |= {secret.by for one in components for secret in one.secrets if secret.by and secret.by != one.name}
    assert {"cilium", "kueue", "rook-ceph", "cert-manager"} <= needs
    for name in (*(one.name for one in components), "namespaces", "root"):
        folder = "bootstrap" if name == "root" else "argocd"
        annotations = read(tree, f"clusters/ml50/{folder}/application-{name}.yaml")["metadata"]["annotations"]
        left_out = annotations.get("argocd.argoproj.io/ignore-healthcheck") == "true"
        assert left_out == (name not in needs and name not in {"namespaces", "root"}), name


def test_no_field_of_an_application_is_empty(ml50: Cluster, a30: Cluster) -> None:
    """Argo CD leaves empty fields out when it writes an Application, and root would put them back for ever."""
    for cluster in (ml50, a30):
        tree = lay_out(cluster)
        for path in tree.files:
            if path.startswith(f"clusters/{cluster.name}/argocd/application-"):
                assert not list(_empty(read(tree, path)["spec"])), path


def _empty(value: Any, at: str = "") -> Iterator[str]:
    if value in ("", None, [], {}):
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from _empty(one, f"{at}/{key}")


def test_definitions_are_protected_before_they_are_vendored(ml50: Cluster) -> None:
    tree = lay_out(ml50)
    crd = {"group": "apiextensions.k8s.io", "kind": "CustomResourceDefinition"}
    for one in compose(ml50):
        path = f"overlays/ml50/{one.name}/releases/kustomization.yaml"
        if path in tree.files:
            patches = read(tree, path).get("patches", [])
            assert [patch["target"] for patch in patches] == [crd] * (f"{crd['group']}/{crd['kind']}" in one.kinds)
            for patch in patches:
                annotations = yaml.load(patch["patch"], yaml.CSafeLoader)["metadata"]["annotations"]
                assert annotations["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"


def test_manual_components_and_ordered_tiers_do_not_move_by_themselves(ml50: Cluster) -> None:
    cluster = structs.replace(
        with_settings(ml50, "kueue", sync="manual"), gitops=structs.replace(ml50.gitops, ordered=("storage",))
    )
    tree = lay_out(cluster)
    for name, automated in (("kueue", False), ("rook-ceph", False), ("volcano", True)):
        policy = read(tree, f"clusters/ml50/argocd/application-{name}.yaml")["spec"]["syncPolicy"]
        assert ("automated" in policy) == automated


def test_values_of_the_file_are_merged_into_the_chart(ml50: Cluster) -> None:
    tree = lay_out(with_settings(ml50, "cilium", values={"hubble": {"ui": {"enabled": True}}, "extra": [1]}))
    values = read(tree, "overlays/ml50/cilium/releases/cilium.yaml")
    assert values["hubble"]["ui"]["enabled"] is True
    assert values["extra"] == [1]
    assert values["kubeProxyReplacement"] is True


def test_an_adopted_release_keeps_its_name_and_place(ml50: Cluster) -> None:
    tree = lay_out(with_settings(ml50, "kueue", adopt=Adopt(release="queueing", namespace="old-kueue")))
    chart = read(tree, "overlays/ml50/kueue/releases/kustomization.yaml")["helmCharts"][0]
    assert (chart["releaseName"], chart["namespace"], chart["valuesFile"]) == ("queueing", "old-kueue", "queueing.yaml")


def test_what_somebody_else_installs_is_left_out(ml50: Cluster) -> None:
    tree = lay_out(with_settings(ml50, "cert-manager", managed=False))
    assert not [path for path in tree.files if "/cert-manager/" in path]
    assert "clusters/ml50/argocd/application-issuers.yaml" in tree.files
    assert "cert-manager" not in tree.components["ml50"]


def test_patches_come_before_the_users_own(ml50: Cluster) -> None:
    patch = Patch(
        target={"version": "v1", "kind": "ConfigMap", "name": "m"},
        operations=({"op": "add", "path": "/data", "value": {}},),
    )
    files = overlay(ml50, component("x", patches=(patch,), objects=(configmap("m"),)))
    assert yaml.load(files["overlays/ml50/x/kustomization.yaml"], yaml.CSafeLoader)["components"] == [
        "generated",
        "custom",
    ]
    generated = yaml.load(files["overlays/ml50/x/generated/kustomization.yaml"], yaml.CSafeLoader)
    assert generated["kind"] == "Component"
    assert yaml.load(generated["patches"][0]["patch"], yaml.CSafeLoader) == [
        {"op": "add", "path": "/data", "value": {}}
    ]


def test_an_empty_base_is_written_out() -> None:
    content = base(component("x"))["base/x/1/kustomization.yaml"].decode()
    assert content.endswith("resources: []\n")


def test_a_component_without_a_namespace_goes_where_its_objects_go(ml50: Cluster) -> None:
    files = argocd(ml50, [component("x", objects=(configmap("m", "elsewhere"),)), component("y")])
    home = yaml.load(files["clusters/ml50/argocd/application-x.yaml"], yaml.CSafeLoader)["spec"]["destination"][
        "namespace"
    ]
    assert home == "elsewhere"
    nowhere = yaml.load(files["clusters/ml50/argocd/application-y.yaml"], yaml.CSafeLoader)["spec"]["destination"]
    assert nowhere == {"server": "https://kubernetes.default.svc"}
    allowed = yaml.load(files[f"clusters/ml50/argocd/appproject-{component('y').tier.value}.yaml"], yaml.CSafeLoader)[
        "spec"
    ]
    assert nowhere in allowed["destinations"]
    spaced = component("z", namespaces=(Namespace("own"),))
    files = argocd(ml50, [spaced])
    assert (
        yaml.load(files["clusters/ml50/argocd/application-z.yaml"], yaml.CSafeLoader)["spec"]["destination"][
            "namespace"
        ]
        == "own"
    )


def test_protection_keeps_other_annotations() -> None:
    manifest = {"metadata": {"name": "m", "annotations": {"a": "b"}}}
    assert protect(manifest)["metadata"]["annotations"]["a"] == "b"
    assert manifest == {"metadata": {"name": "m", "annotations": {"a": "b"}}}


def test_declared_secrets_are_listed_without_data(ml50: Cluster) -> None:
    listed = read(lay_out(ml50), "clusters/ml50/bootstrap/secrets.yaml")["secrets"]
    names = {(entry["namespace"], entry["name"]) for entry in listed}
    assert ("minio", "minio-root") in names
    for entry in listed:
        assert {"component", "name", "namespace", "keys", "source", "loss", "rotate", "readers"} <= set(entry)
        assert set(entry) <= {
            "component",
            "name",
            "namespace",
            "keys",
            "source",
            "by",
            "loss",
            "rotateBy",
            "rotate",
            "readers",
            "labels",
            "copyOf",
            "computed",
        }
    by_gen = {entry["name"] for entry in listed if "rotateBy" in entry}
    assert {"minio-user-backup-writer", "zabbix-slack"} < by_gen
    assert not by_gen & {"site-ca", "rook-ceph-mon", "rook-csi-rbd-node"}


def test_no_secret_object_holds_data(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        for one in compose(cluster):
            for manifest in (*one.base, *one.objects):
                if manifest["kind"] == "Secret":
                    assert not manifest.get("data"), manifest
                    assert not manifest.get("stringData"), manifest
