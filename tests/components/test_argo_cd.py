"""Argo CD: what its patches set, who gets in, and when a wave may go on."""

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from msgspec import structs

from generator.components.argo_cd import argo_cd
from generator.components.argo_cd.install import git_host
from generator.components.argo_cd.settings import application_health
from generator.components.component import Component, Health, Tier
from generator.components.kubeadm.node import node_files
from generator.model.cluster import Cluster
from generator.model.site import Git, Proxy


def target(component: Component, name: str) -> dict[str, Any]:
    """Return what the patches set on an object: path to value."""
    operations = [
        operation for patch in component.patches if patch.target["name"] == name for operation in patch.operations
    ]
    assert all(operation["op"] == "add" for operation in operations)
    return {operation["path"]: operation["value"] for operation in operations}


def settings(component: Component) -> dict[str, str]:
    return {path.removeprefix("/data/"): value for path, value in target(component, "argocd-cm").items()}


def with_site(cluster: Cluster, **changes: Any) -> Cluster:
    return structs.replace(cluster, site=structs.replace(cluster.site, **changes))


def with_gitops(cluster: Cluster, **changes: Any) -> Cluster:
    return structs.replace(cluster, gitops=structs.replace(cluster.gitops, **changes))


def test_one_manifest_and_the_redis_that_belongs_to_it(ml50: Cluster, a30: Cluster) -> None:
    (available,), (single,) = argo_cd(ml50, ()).manifests, argo_cd(a30, ()).manifests
    assert available.endswith("/manifests/ha/install.yaml")
    assert single.endswith("/manifests/install.yaml")
    parameters = target(argo_cd(ml50, ()), "argocd-cmd-params-cm")["/data"]
    assert parameters["redis.server"] == "argocd-redis-ha-haproxy:6379"
    assert "redis.server" not in target(argo_cd(a30, ()), "argocd-cmd-params-cm")["/data"]


def test_health_is_kept_in_the_applications(ml50: Cluster) -> None:
    parameters = target(argo_cd(ml50, ()), "argocd-cmd-params-cm")["/data"]
    assert parameters["controller.resource.health.persist"] == "true"
    assert parameters["server.insecure"] == "false"


def test_every_component_brings_its_health_checks(ml50: Cluster) -> None:
    checks = (Health("example.org", "Thing", "return {}"), Health("example.org", "Other", "return {}"))
    other = Component(name="other", tier=Tier.GPU, summary="", version="1", health=checks)
    keys = settings(argo_cd(ml50, (other, argo_cd(ml50, ()))))
    prefix = "resource.customizations.health."
    assert {key.removeprefix(prefix) for key in keys if key.startswith(prefix)} == {
        "argoproj.io_Application",
        "example.org_Thing",
        "example.org_Other",
    }


def test_values_are_text_because_a_config_map_takes_nothing_else(ml50: Cluster) -> None:
    component = argo_cd(ml50, ())
    maps = [settings(component), target(component, "argocd-cmd-params-cm")["/data"]]
    maps.append(target(component, "argocd-rbac-cm")["/data"])
    assert all(isinstance(value, str) for data in maps for value in data.values())


def test_charts_are_inflated_only_while_some_are_not_vendored(ml50: Cluster) -> None:
    assert settings(argo_cd(ml50, ()))["kustomize.buildOptions"] == "--enable-helm"
    assert "kustomize.buildOptions" not in settings(argo_cd(ml50, (), enable_helm=False))


def test_nobody_may_do_anything_but_the_admins(ml50: Cluster, a30: Cluster) -> None:
    for cluster in (ml50, a30):
        rights = target(argo_cd(cluster, ()), "argocd-rbac-cm")["/data"]
        assert rights["policy.default"] == ""
        assert rights["policy.csv"].count("\n") == len(cluster.gitops.admins)
        assert settings(argo_cd(cluster, ()))["users.anonymous.enabled"] == "false"
    assert target(argo_cd(ml50, ()), "argocd-rbac-cm")["/data"]["policy.csv"] == 'g, "platform", role:admin\n'


def test_a_group_with_commas_and_quotes_stays_one_group(ml50: Cluster) -> None:
    group = 'cn=ops, "night"'
    policy = target(argo_cd(with_gitops(ml50, admins=(group,)), ()), "argocd-rbac-cm")["/data"]["policy.csv"]
    assert next(csv.reader([policy], skipinitialspace=True)) == ["g", group, "role:admin"]


def test_the_built_in_admin_goes_only_when_others_can_come_in(ml50: Cluster, a30: Cluster) -> None:
    assert settings(argo_cd(ml50, ()))["admin.enabled"] == "false"
    locked_out = (a30, with_gitops(ml50, admins=()), with_gitops(ml50, host=None), with_site(ml50, oidc=None))
    for cluster in locked_out:
        component = argo_cd(cluster, ())
        assert settings(component)["admin.enabled"] == "true"
        assert "argocd-initial-admin-secret" in {secret.name for secret in component.secrets}


def test_the_login_names_a_secret_and_holds_none(ml50: Cluster, a30: Cluster) -> None:
    component = argo_cd(ml50, ())
    login = json.loads(settings(component)["oidc.config"])
    assert ml50.site.oidc
    assert login["issuer"] == ml50.site.oidc.issuer
    name, key = login["clientSecret"].removeprefix("$").split(":")
    assert [secret.keys for secret in component.secrets if secret.name == name] == [(key,)]
    # a30-bench has a provider, and no address to which it could send people back.
    for nobody in (a30, with_site(ml50, oidc=None), with_gitops(ml50, host=None)):
        without = argo_cd(nobody, ())
        assert "oidc.config" not in settings(without)
        assert "argocd-oidc" not in {secret.name for secret in without.secrets}
        assert "scopes" not in target(without, "argocd-rbac-cm")["/data"]


@pytest.mark.parametrize(
    ("url", "keys"),
    [
        ("https://git.example.org/a.git", ("type", "url", "username", "password")),
        ("ssh://git@git.example.org:2222/a.git", ("type", "url", "sshPrivateKey")),
        ("git@git.example.org:group/a.git", ("type", "url", "sshPrivateKey")),
    ],
)
def test_the_repository_needs_the_keys_of_its_kind_of_url(ml50: Cluster, url: str, keys: tuple[str, ...]) -> None:
    cluster = structs.replace(ml50, repository=structs.replace(ml50.repository, url=url))
    (secret,) = [secret for secret in argo_cd(cluster, ()).secrets if secret.name == "repository"]
    assert (secret.keys, secret.source) == (keys, "given")
    assert git_host(url) == "git.example.org"


def test_trust_in_the_git_server_is_the_sites_own(ml50: Cluster) -> None:
    git = Git(ca="pem\n", known_hosts=("git.example.org ssh-ed25519 one", "git.example.org ssh-rsa two"))
    component = argo_cd(with_site(ml50, git=git), ())
    assert target(component, "argocd-tls-certs-cm")["/data"] == {"git.ml50.example.org": "pem\n"}
    known = target(component, "argocd-ssh-known-hosts-cm")["/data"]["ssh_known_hosts"]
    assert known.splitlines() == list(git.known_hosts)
    assert not target(argo_cd(ml50, ()), "argocd-tls-certs-cm")


def test_no_target_names_a_namespace_because_upstreams_objects_have_none(ml50: Cluster) -> None:
    patches = argo_cd(ml50, ()).patches
    assert all("namespace" not in patch.target for patch in patches)
    assert len({(patch.target["kind"], patch.target["name"]) for patch in patches}) == len(patches)


def test_fetching_goes_through_the_proxy_and_the_inside_past_it(ml50: Cluster) -> None:
    proxy = Proxy(http="http://proxy:3128", no_proxy=("git.corp",))
    patch = next(
        p for p in argo_cd(with_site(ml50, proxy=proxy), ()).patches if p.target["name"] == "argocd-repo-server"
    )
    env = {op["value"]["name"]: op["value"]["value"] for op in patch.operations if op["path"].endswith("/env/-")}
    assert env["HTTPS_PROXY"] == "http://proxy:3128"
    inside = env["NO_PROXY"].split(",")
    assert {str(ml50.kubernetes.pod_cidr), str(ml50.kubernetes.service_cidr), "git.corp", ".svc"} <= set(inside)
    assert ml50.networks.storage
    assert str(ml50.networks.storage.cidr) in inside


def test_argo_cd_reaches_directly_what_nodes_do_and_its_own_parts(ml50: Cluster) -> None:
    site = with_site(ml50, proxy=Proxy(http="http://proxy:3128", https="http://other:3128", no_proxy=("git.corp",)))
    patch = next(each for each in argo_cd(site, ()).patches if each.target["name"] == "argocd-repo-server")
    own = {op["value"]["name"]: op["value"]["value"] for op in patch.operations if op["path"].endswith("/env/-")}
    files = dict[str, object](node_files(site).items())
    text = str(files["node/all/etc/systemd/system/containerd.service.d/proxy.conf"])
    nodes = dict(line.removeprefix('Environment="')[:-1].split("=", 1) for line in text.splitlines()[1:])
    parts = own["NO_PROXY"].removeprefix(nodes["NO_PROXY"])
    assert own == {**nodes, "NO_PROXY": nodes["NO_PROXY"] + parts}
    assert parts == ",argocd-repo-server,argocd-redis,argocd-redis-ha-haproxy"


def test_every_program_that_runs_has_requests(ml50: Cluster) -> None:
    for patch in argo_cd(ml50, ()).patches:
        if patch.target["kind"] in ("Deployment", "StatefulSet") and patch.target["name"] != "argocd-dex-server":
            assert patch.operations[0]["value"]["requests"].keys() == {"cpu", "memory"}


def test_the_signing_key_survives_a_prune(ml50: Cluster) -> None:
    annotations = target(argo_cd(ml50, ()), "argocd-secret")["/metadata/annotations"]
    assert annotations["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
    assert {(ignore.kind, ignore.name, ignore.pointers) for ignore in argo_cd(ml50, ()).ignore} >= {
        ("Secret", "argocd-secret", ("/data",)),
    }


def test_nothing_at_bootstrap_is_of_a_kind_that_comes_later(ml50: Cluster) -> None:
    component = argo_cd(ml50, ())
    assert not component.needs
    assert {item["kind"] for item in component.base + component.objects} == {
        "Ingress",
        "PodDisruptionBudget",
    }


def test_the_ingress_ends_at_argo_cds_own_certificate(ml50: Cluster, a30: Cluster) -> None:
    component = argo_cd(ml50, ())
    (ingress,) = [item for item in component.objects if item["kind"] == "Ingress"]
    (tls,) = ingress["spec"]["tls"]
    assert tls["hosts"] == [ml50.gitops.host]
    assert tls["secretName"] in {secret.name for secret in component.secrets}
    assert ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["name"] == "https"
    assert not argo_cd(a30, ()).objects
    inside = argo_cd(with_site(ml50, ingress_class=None), ())
    assert "Ingress" not in {item["kind"] for item in inside.objects}
    assert "argocd-server-tls" not in {secret.name for secret in inside.secrets}


def test_the_base_is_the_same_everywhere(ml50: Cluster, a30: Cluster) -> None:
    assert argo_cd(ml50, ()).base == argo_cd(a30, ()).base


SOURCE = {"repoURL": "https://git", "path": "overlays/a/b", "targetRevision": "main"}


def application(**status: Any) -> dict[str, Any]:
    """Return an Application that is well, with parts of its status replaced."""
    well = {
        "health": {"status": "Healthy"},
        "sync": {"status": "Synced", "comparedTo": {"source": {**SOURCE, "kustomize": {}}}},
        "operationState": {"phase": "Succeeded"},
    }
    return {"metadata": {}, "spec": {"source": SOURCE}, "status": {**well, **status}}


def ago(minutes: int) -> str:
    """Return a time as Kubernetes writes it."""
    return (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def verdict(given: dict[str, Any]) -> dict[str, str]:
    """Return what Argo CD would hold an Application for."""
    lupa = pytest.importorskip("lupa.lua51", reason="lupa is not installed")
    lua = lupa.LuaRuntime()
    # What Argo CD's interpreter lacks as well; of `os` it has two functions, and only for those who require it.
    lua.execute("package.loaded.os = {time = os.time, date = os.date}; string, math, os, io, debug, coroutine = nil")
    health = lua.eval(f"function(obj) {application_health()} end")
    found = dict(health(lua.table_from(_without_none(given), recursive=True)))
    assert isinstance(found["message"], str)
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (application(), "Healthy"),
        (application(operationState=None), "Healthy"),
        ({"metadata": {}, "spec": {"source": SOURCE}}, "Progressing"),
        (application(health=None), "Progressing"),
        (application(sync=None), "Progressing"),
        (application(sync={"status": "Synced"}), "Progressing"),
        (
            application(sync={"status": "Synced", "comparedTo": {"source": {**SOURCE, "targetRevision": "old"}}}),
            "Progressing",
        ),
        (
            application(sync={"status": "Synced", "comparedTo": {"source": {**SOURCE, "path": "elsewhere"}}}),
            "Progressing",
        ),
        (application(sync={"status": "OutOfSync", "comparedTo": {"source": SOURCE}}), "Progressing"),
        (application(operationState={"phase": "Running"}), "Progressing"),
        (application(operationState={"phase": "Failed", "message": "no"}), "Degraded"),
        (application(operationState={"phase": "Error"}), "Degraded"),
        (application(health={"status": "Degraded", "message": "pods"}), "Degraded"),
        (application(health={"status": "Missing"}), "Progressing"),
        (application(health={"status": "Unknown"}), "Progressing"),
        (application(health={}), "Progressing"),
        ({**application(), "spec": {"sources": [SOURCE]}}, "Healthy"),
    ],
)
def test_a_wave_goes_on_when_this_very_spec_is_applied(given: dict[str, Any], expected: str) -> None:
    assert verdict(given)["status"] == expected


RUNNING = {"phase": "Running", "message": "trying"}
PROGRESSING = {"status": "Progressing"}
UNKNOWN = {"status": "Unknown"}
DIFFERS = {"status": "OutOfSync", "revision": "b", "comparedTo": {"source": SOURCE}}
ELSEWHERE = {"status": "Synced", "comparedTo": {"source": {**SOURCE, "path": "elsewhere"}}}


def ended(minutes: int, revision: str = "b") -> dict[str, Any]:
    """Return a sync of a revision that went well."""
    return {"phase": "Succeeded", "finishedAt": ago(minutes), "syncResult": {"revision": revision}}


def healed(times: int) -> dict[str, Any]:
    return ended(1) | {"operation": {"sync": {"autoHealAttemptsCount": times}}}


def changed(minutes: int) -> dict[str, Any]:
    """Return the metadata of an old Application that its parent changed."""
    root = {"manager": "argocd-controller", "operation": "Apply", "time": ago(minutes)}
    own = {"manager": "argocd-application-controller", "operation": "Update", "time": ago(0)}
    return {"metadata": {"creationTimestamp": ago(9999), "managedFields": [own, root]}}


@pytest.mark.parametrize(
    ("made", "patience", "too_long"),
    [
        (lambda tries: application(operationState=RUNNING | {"retryCount": tries}), 4, 5),
        (lambda minutes: application(operationState=RUNNING | {"startedAt": ago(minutes)}), 29, 31),
        (lambda minutes: application(health=PROGRESSING | {"lastTransitionTime": ago(minutes)}), 29, 31),
        (lambda minutes: application(health=UNKNOWN | {"lastTransitionTime": ago(minutes)}, sync=UNKNOWN), 4, 6),
        (lambda minutes: application(sync=None) | {"metadata": {"creationTimestamp": ago(minutes)}}, 29, 31),
        (lambda minutes: application(sync=ELSEWHERE) | changed(minutes), 29, 31),
        # Something writes a field anew after each sync: Argo CD heals it again and again (its own pauses end at 300 s).
        (lambda times: application(sync=DIFFERS, operationState=healed(times)), 4, 5),
        (lambda minutes: application(sync=DIFFERS, operationState=ended(minutes)), 29, 31),
        # Its spec was changed after the last sync, and nobody syncs it: a closed window, or one that people sync.
        (lambda minutes: application(sync=DIFFERS, operationState=ended(99)) | changed(minutes), 29, 31),
    ],
)
def test_no_wave_waits_for_ever(made: Callable[[int], dict[str, Any]], patience: int, too_long: int) -> None:
    assert [verdict(made(count))["status"] for count in (patience, too_long)] == ["Progressing", "Degraded"]


def test_a_component_that_nobody_has_synced_yet_holds_the_wave_for_a_while_and_drift_of_an_old_one_is_no_failure() -> (
    None
):
    new = application(sync={"status": "OutOfSync", "comparedTo": {"source": SOURCE}}, operationState=None)
    for minutes, expected in ((29, "Progressing"), (31, "Degraded")):
        assert verdict(new | {"metadata": {"creationTimestamp": ago(minutes)}})["status"] == expected
    automated = {"spec": {"source": SOURCE, "syncPolicy": {"automated": {"selfHeal": True}}}}
    for synced in (
        application(sync=DIFFERS, operationState=ended(999)) | automated,
        application(sync=DIFFERS, operationState=ended(999, "a")),
    ):
        assert verdict(synced | changed(9999))["status"] == "Progressing"


def test_what_nothing_waits_for_lets_the_wave_go_on_and_says_how_it_is() -> None:
    left_out = {"annotations": {"argocd.argoproj.io/ignore-healthcheck": "true"}}
    broken = application(health={"status": "Degraded", "message": "pods"})
    found = verdict(broken | {"metadata": left_out})
    assert (found["status"], "Degraded: pods" in found["message"]) == ("Healthy", True)
    assert verdict(broken)["status"] == "Degraded"


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return value


def test_settings_in_json_are_yaml_to_argo_cd(ml50: Cluster) -> None:
    keys = settings(argo_cd(ml50, ()))
    assert yaml.load(keys["resource.compareoptions"], yaml.CSafeLoader)["ignoreResourceStatusField"] == "all"
    assert yaml.load(keys["oidc.config"], yaml.CSafeLoader)["name"] == "site"
