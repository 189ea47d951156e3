"""The steps in their order, and what they say, against a fake cluster."""

import json
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from chartshop import Shop, serving
from joinednodes import joined
from livecluster import LiveCluster, forbidden, living
from loopback import config
from reference import ROOT

from generator.build.kinds import CRD
from generator.build.objects import Object
from generator.cli import run
from generator.errors import UsageError
from generator.live import lease
from generator.live.api import AwayError, Request, of_kubeconfig
from generator.live.bootstrap import argo_cd as bootstrap_argo_cd
from generator.live.bootstrap.argo_cd import SERVER, await_server, rolled_out
from generator.live.bootstrap.bootstrap import Bootstrap
from generator.live.bootstrap.objects import compare
from generator.live.bootstrap.overlays import Overlays, overlays
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster


def space(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def settings(name: str, text: str = "b") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "argocd"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": text}}


def root() -> dict[str, Any]:
    metadata = {"name": "root", "namespace": "argocd"}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": metadata,
        "spec": {"project": "root"},
    }


OVERLAYS = Overlays(
    objects={
        "namespaces": (Object(space("argocd"), "namespaces", ""),),
        "calico": (),
        "argo-cd": (Object(settings("argocd-cm"), "argo-cd", ""),),
    },
    root=(Object(root(), "root", ""),),
    applications=frozenset(),
)


def definition(plural: str) -> dict[str, Any]:
    names = {"plural": plural, "kind": plural.title()}
    spec = {"group": "example.org", "names": names, "scope": "Cluster", "versions": [{"name": "v1", "served": True}]}
    metadata = {"name": f"{plural}.example.org"}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": CRD, "metadata": metadata, "spec": spec}


def served(live: LiveCluster) -> None:
    """Play the API server: a definition that is stored is served."""

    def establish(one: dict[str, Any]) -> None:
        if one["kind"] == CRD:
            one["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
            live.served.setdefault("example.org/v1", {})[one["spec"]["names"]["kind"]] = False

    live.reacts.append(establish)


def made(running: RunningCluster, cluster: Cluster, told: list[str]) -> Bootstrap:
    return Bootstrap(
        running=running,
        cluster=cluster,
        overlays=OVERLAYS,
        definitions=lambda: [Object(definition("toys"), "toys", "")],
        secrets=(),
        keeping=Keeping(values=Values(None, {})),
        tell=lambda step, what: told.append(f"{step}: {what}"),
    )


def test_all_steps_are_performed_in_their_order(tmp_path: Path, a30: Cluster) -> None:
    told: list[str] = []
    with living(tmp_path, *joined(a30)) as (live, running):
        served(live)
        made(running, a30, told).perform()
        assert live.get("Application", "root")
        assert live.get("ConfigMap", "gen")["data"] == record(a30)["data"]
        assert not any(step.pending for step in made(running, a30, told).plan())
    assert told == [
        "identity: recorded that this is a30-bench",
        "identity: done",
        "nodes: was done already",
        "namespaces: applied Namespace argocd",
        "namespaces: done",
        "calico: was done already",
        "secrets: was done already",
        "definitions: applied CustomResourceDefinition toys.example.org",
        "definitions: done",
        "argo-cd: applied ConfigMap argocd/argocd-cm",
        "argo-cd: done",
        "root: applied Application argocd/root",
        "root: done",
    ]


def test_a_plan_writes_nothing(tmp_path: Path, a30: Cluster) -> None:
    with living(tmp_path, *joined(a30)) as (live, running):
        plan = made(running, a30, []).plan()
        assert live.writes == []
    assert [step.name for step in plan if step.pending] == ["identity", "namespaces", "definitions", "argo-cd", "root"]


def test_who_loses_the_lease_does_nothing_more(tmp_path: Path, a30: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease.Lease, "confirm", lambda _: (_ for _ in ()).throw(UsageError("lost")))
    with living(tmp_path, *joined(a30)) as (live, running):
        with pytest.raises(UsageError, match="lost"):
            made(running, a30, []).perform()
        assert not live.get("Namespace", "argocd")


def test_a_cluster_without_nodes_comes_too_early(tmp_path: Path, a30: Cluster) -> None:
    with living(tmp_path) as (_, running), pytest.raises(UsageError, match="has no nodes yet"):
        made(running, a30, []).plan()


def test_another_cluster_that_calls_its_nodes_alike_is_refused(tmp_path: Path, a30: Cluster) -> None:
    nodes = joined(a30)
    for node in nodes:
        node["status"] = {"addresses": [{"type": "InternalIP", "address": "10.1.1.1"}]}
    with living(tmp_path, *nodes) as (live, running):
        with pytest.raises(UsageError, match=r"have other addresses \(jw1 10\.1\.1\.1 instead of 129\.254\.202\.251"):
            made(running, a30, []).perform()
        assert not live.get("ConfigMap", "gen")
        live.add(record(a30))
        assert made(running, a30, []).plan()
        del live.objects["/api/v1/namespaces/kube-system/configmaps/gen"]
        live.get("Node", "jw2")["status"]["addresses"] += [{"type": "InternalIP", "address": "129.254.202.252"}]
        assert made(running, a30, []).plan()


def test_a_repository_that_moved_is_recorded_anew(tmp_path: Path, a30: Cluster) -> None:
    with living(tmp_path, *joined(a30), record(a30)) as (live, running):
        live.get("ConfigMap", "gen")["data"] |= {"repository": "https://former", "data-secret.a.b": "made"}
        (item,) = made(running, a30, []).plan()[0].items
        assert "instead of https://former" in item.what
        made(running, a30, []).perform()
        assert live.get("ConfigMap", "gen")["data"] == {**record(a30)["data"], "data-secret.a.b": "made"}


def test_an_object_keeps_what_argo_cd_knows_it_by(tmp_path: Path) -> None:
    there = settings("argocd-cm", "former")
    there["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "x", "mine": "y"}
    with living(tmp_path, there) as (_, running):
        (found,) = compare(running, [Object(settings("argocd-cm"), "argo-cd", "")])
    assert (found.there, found.same) == (True, False)
    assert found.one.manifest["metadata"]["annotations"] == {"argocd.argoproj.io/tracking-id": "x"}


def test_definitions_come_before_their_objects(tmp_path: Path) -> None:
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": CRD, "metadata": {"name": "a"}, "spec": {}}
    custom = {"apiVersion": "example.org/v1", "kind": "Toy", "metadata": {"name": "a"}}
    mixed = [Object(one, "", "") for one in (custom, settings("x"), definition, space("argocd"))]
    with living(tmp_path) as (_, running):
        assert [found.one.kind for found in compare(running, mixed)] == ["Namespace", CRD, "Toy", "ConfigMap"]


def deployment(**status: Any) -> dict[str, Any]:
    metadata = {"name": "argocd-repo-server", "namespace": "argocd", "generation": 2}
    counts = {"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 2},
        "status": counts | status,
    }


@pytest.mark.parametrize(
    "status", [{"observedGeneration": 1}, {"updatedReplicas": 1}, {"replicas": 3}, {"availableReplicas": 1}]
)
def test_a_deployment_is_rolled_out_when_all_pods_are_new_and_available(status: dict[str, int]) -> None:
    assert rolled_out(deployment())
    assert not rolled_out(deployment(**status))
    assert not rolled_out({**deployment(), "status": {}})


def test_a_server_that_does_not_start_names_its_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap_argo_cd, "PATIENCE", 0.1)
    monkeypatch.setattr(bootstrap_argo_cd, "POLL", 0.05)
    told: list[str] = []
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"conditions": []}}
    with living(tmp_path, deployment(availableReplicas=0), node) as (live, running):
        with pytest.raises(UsageError, match="run again to go on"):
            await_server(running, told.append)
        assert told == ["argocd-repo-server is not rolled out: 0 of 2 pods available; nodes that are not ready: n1"]
        live.objects[SERVER]["status"]["availableReplicas"] = 2
        await_server(running, told.append)


def test_what_is_not_vendored_is_refused(a30: Cluster) -> None:
    with pytest.raises(UsageError, match=r"not vendored: argo-cd, calico; .*`gen vendor argo-cd calico`"):
        overlays(ROOT, a30)


def test_what_is_not_rendered_is_refused(a30: Cluster, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="overlays/a30-bench: there is no such folder; `gen render` writes it"):
        overlays(tmp_path, a30)


def test_the_verb_tells_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bootstrap", "-C", str(ROOT)]) == 2
    assert "name one cluster with --cluster" in capsys.readouterr().err
    words = ["bootstrap", "-C", str(ROOT), "--cluster", "a30-bench", "--kubeconfig", str(tmp_path / "kubeconfig")]
    assert run(words) == 2
    assert "there is no such kubeconfig" in capsys.readouterr().err


def test_the_verb_tells_programs(
    tmp_path: Path, a30: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generator.live.bootstrap.bootstrap.overlays", lambda *_: OVERLAYS)
    with living(tmp_path, *joined(a30)) as (live, _):
        live.refuses["POST /apis/authentication.*"] = forbidden("create", "selfsubjectreviews")
        words = ["bootstrap", "-C", str(ROOT), "--cluster", "a30-bench", "--kubeconfig", str(tmp_path / "kubeconfig")]
        assert run([*words, "--output", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [step["step"] for step in told["steps"]][:3] == ["identity", "nodes", "namespaces"]
    assert told["steps"][0]["items"][0]["state"] == "would do"
    assert any("argocd/repository" in one for one in told["waiting"])


def test_a_server_whose_certificate_has_expired_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make = [
        "openssl",
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        "key.pem",
    ]
    (tmp_path / "names").write_text("subjectAltName=IP:127.0.0.1")
    sign = ["openssl", "x509", "-req", "-in", "a.csr", "-signkey", "key.pem", "-days", "-1", "-extfile", "names"]
    for words in ([*make, "-out", "a.csr", "-subj", "/CN=127.0.0.1"], [*sign, "-out", "a.pem"]):
        subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "a.pem", tmp_path / "key.pem")
    server = Shop(tls)
    with serving(server):
        file = config(tmp_path, server.url, token="nonsense")
        content = yaml.load(file.read_text(), yaml.CSafeLoader)
        content["clusters"][0]["cluster"]["certificate-authority"] = str(tmp_path / "a.pem")
        file.write_text(yaml.safe_dump(content))
        words = ["bootstrap", "-C", str(ROOT), "--cluster", "a30-bench", "--kubeconfig", str(file)]
        assert run(words) == 2
        with pytest.raises(UsageError) as refused:
            of_kubeconfig(file, None).ask(Request(path="/version"))
        assert not isinstance(refused.value, AwayError), "no waiting mends it"
    assert "its certificate has expired; renew it" in capsys.readouterr().err
