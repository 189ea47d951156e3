"""Secrets from the site's store: the same ones that people would make, by one convention of paths."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs

from generator.components import compose
from generator.components.component import Component, Manifest, Secret, Tier
from generator.components.kubeadm.steps import steps
from generator.components.minio.metrics import token
from generator.components.secret_store import from_store
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.model.secret_store import SecretStore

STORE = SecretStore(by="external-secrets", store="vault", prefix="clusters")
PEOPLES = {"given", "generated"}


def stored(cluster: Cluster, store: SecretStore = STORE) -> Cluster:
    return structs.replace(cluster, site=structs.replace(cluster.site, secrets=store))


def external(components: tuple[Component, ...]) -> dict[tuple[str, str], Manifest]:
    objects = (one for component in components for one in component.objects if one["kind"] == "ExternalSecret")
    return {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in objects}


def declared(cluster: Cluster, *sources: str) -> dict[tuple[str, str], Secret]:
    found = (secret for component in compose(cluster) for secret in component.secrets)
    return {(one.namespace, one.name): one for one in found if one.source in sources}


@pytest.fixture
def cluster(ml50: Cluster) -> Cluster:
    return stored(ml50)


def test_without_a_store_nothing_comes_from_it(ml50: Cluster) -> None:
    assert external(compose(ml50)) == {}
    assert declared(ml50, "external") == {}


def test_all_that_people_would_make_comes_from_the_store_but_for_argo_cd_s_own(ml50: Cluster, cluster: Cluster) -> None:
    wanted = {where for where in declared(ml50, *PEOPLES) if where[0] != "argocd"}
    assert len(wanted) > 5
    assert set(external(compose(cluster))) == set(declared(cluster, "external")) == wanted
    assert {space for space, _ in declared(cluster, *PEOPLES)} == {"argocd"}


def test_a_key_is_a_property_of_its_secret_s_entry(cluster: Cluster) -> None:
    spec = external(compose(cluster))["zabbix", "zabbix-database"]["spec"]
    entry = "clusters/ml50/zabbix/zabbix-database"
    assert spec["data"] == [
        {"secretKey": key, "remoteRef": {"key": entry, "property": key}} for key in ("username", "password")
    ]
    assert spec["secretStoreRef"] == {"kind": "ClusterSecretStore", "name": "vault"}


def test_without_a_prefix_entries_begin_with_the_cluster(ml50: Cluster) -> None:
    bare = stored(ml50, SecretStore(by="external-secrets", store="vault"))
    assert declared(bare, "external")["zabbix", "zabbix-admin"].entry == "ml50/zabbix/zabbix-admin"


def test_the_steps_say_how_a_computed_value_of_an_entry_is_made(cluster: Cluster, tmp_path: Path) -> None:
    text = str(steps(cluster, [secret for component in compose(cluster) for secret in component.secrets]))
    row = "| `clusters/ml50/minio/minio-metrics` | accessKey, secretKey, token |"
    (line,) = (line for line in text.splitlines() if line.startswith(row))
    assert line.endswith("; token: `minio_token accessKey secretKey`, below |")
    functions = text.partition("A shell function in the table")[2].partition("```sh\n")[2].partition("```")[0]
    for key in ("accessKey", "secretKey"):
        (tmp_path / key).write_text(key)
    words = ["sh", "-c", f"{functions}minio_token accessKey secretKey"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == token(b"accessKey", b"secretKey")


def test_a_copy_is_the_entry_of_what_it_is_a_copy_of(cluster: Cluster) -> None:
    found = declared(cluster, "external")
    assert found["rook-ceph", "minio-user-backup-writer"].entry == found["minio", "minio-user-backup-writer"].entry


def test_a_component_begins_with_its_secrets_and_they_outlive_what_brought_them(cluster: Cluster) -> None:
    for one in external(compose(cluster)).values():
        assert one["metadata"]["annotations"] == {"argocd.argoproj.io/sync-wave": "-1"}
        assert (one["spec"]["target"]["creationPolicy"], one["spec"]["target"]["deletionPolicy"]) == (
            "Orphan",
            "Retain",
        )


def component(name: str, **settings: Any) -> Component:
    secret = Secret(
        name="key", namespace="some", keys=("a",), source="given", loss="outage", rotate="", readers=(name,), **settings
    )
    return Component(name=name, tier=Tier.STORAGE, summary="", version="1", secrets=(secret,))


def test_labels_are_those_of_the_declaration_and_never_those_of_argo_cd(cluster: Cluster) -> None:
    labels = {"argocd.argoproj.io/secret-type": "repository"}
    (labelled,) = from_store(cluster, component("some", labels=labels)).objects
    (plain,) = from_store(cluster, component("some")).objects
    assert labelled["spec"]["target"]["template"] == {"engineVersion": "v2", "metadata": {"labels": labels}}
    # Where there is no template at all, the ExternalSecret's own are copied.
    assert plain["spec"]["target"]["template"] == {"engineVersion": "v2"}


def test_what_runs_before_argo_cd_syncs_anything_does_not_wait_for_it(cluster: Cluster) -> None:
    for name in ("argo-cd", "cilium"):
        before = component(name)
        assert from_store(cluster, before) == before


def test_each_is_an_object_of_its_component_which_its_project_lets_in(cluster: Cluster) -> None:
    laid = lay_out(cluster).files.items()
    files = {
        path: yaml.load(text, yaml.CSafeLoader)
        for path, text in laid
        if "/argocd/" in path or path.startswith("overlays/")
    }
    found = {path: one for path, one in files.items() if "/externalsecret-" in path}
    assert len(found) == len(external(compose(cluster)))
    for path, one in found.items():
        name = path.split("/")[2]
        assert path.rpartition("/")[2] in files[f"overlays/ml50/{name}/kustomization.yaml"]["resources"]
        project = files[f"clusters/ml50/argocd/application-{name}.yaml"]["spec"]["project"]
        destinations = files[f"clusters/ml50/argocd/appproject-{project}.yaml"]["spec"]["destinations"]
        spaces, mine = {each.get("namespace") for each in destinations}, one["metadata"]["namespace"]
        assert mine in spaces or ("*" in spaces and f"!{mine}" not in spaces)


def test_the_list_of_secrets_says_where_each_is(cluster: Cluster) -> None:
    (path,) = (path for path in lay_out(cluster).files if path.endswith("bootstrap/secrets.yaml"))
    listed = yaml.load(lay_out(cluster).files[path], yaml.CSafeLoader)["secrets"]
    entries = {one["name"]: one["entry"] for one in listed if one["source"] == "external"}
    assert entries["zabbix-slack"] == "clusters/ml50/zabbix/zabbix-slack"
    assert all("entry" in one for one in listed) is False


def test_the_steps_name_what_the_store_must_hold_and_make_only_argo_cd_s(cluster: Cluster) -> None:
    text = str(steps(cluster, [secret for one in compose(cluster) for secret in one.secrets]))
    assert "| `clusters/ml50/minio/minio-root` | rootUser, rootPassword | `openssl rand -hex 24` |\n" in text
    assert "| `clusters/ml50/cert-manager/site-ca` | tls.crt, tls.key | given |\n" in text
    assert text.count("`clusters/ml50/minio/minio-user-backup-writer`") == 1
    assert "kubectl get clustersecretstores vault" in text
    made = [line for line in text.splitlines() if line.startswith("secret ") and "{" not in line]
    assert {line.split()[1] for line in made} == {"argocd"}


def test_the_steps_say_which_namespaces_alone_may_read_the_store(cluster: Cluster) -> None:
    """Or whoever may make an ExternalSecret anywhere has every Secret of the platform."""
    text = str(steps(cluster, tuple(secret for component in compose(cluster) for secret in component.secrets)))
    spaces = sorted({where[0] for where in external(compose(cluster))})
    assert "serving" in spaces
    assert f"name these `namespaces` alone: {', '.join(spaces)}." in text
