"""What a real API server says to everything that is rendered, and how `gen check --server` tells it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from madeup import CRD, config, kubeconfig, made, store
from msgspec import structs
from reference import ROOT, decoded, load
from validation.schemas import schemas_of

from generator.build.applications import build
from generator.build.manifests import documents
from generator.build.objects import Built
from generator.build.pods import pods
from generator.cli import run
from generator.cli.server import check_server
from generator.components import CATALOGUE, compose
from generator.components.envoy_gateway.layout import VERSIONS as ENVOY_GATEWAY
from generator.errors import UsageError
from generator.live.api import ApiConnection, Request, of_started
from generator.live.apiserver import Started, throw_away
from generator.live.dry_run.dry_run import dry_run
from generator.live.server import server
from generator.model.served import kinds
from generator.rules.judging import Answers

if TYPE_CHECKING:
    from generator.components.component import Manifest
    from generator.model.cluster import Cluster

pytestmark = pytest.mark.real
pytest_plugins = ["apiserver", "usercluster"]

CLUSTERS = sorted(path.parent.name for path in ROOT.glob("clusters/*/cluster.yaml"))
SHARED = ROOT.parent / "shared" / "upstream"
OTHERS = {
    name: f"tests/wrong/valid/{name}.yaml" for name in ("exposure-calico", "fleet", "scaled-pool", "volume-backup")
}
"""Clusters with the components that no reference cluster has."""


@pytest.fixture(scope="module", autouse=True)
def _need() -> None:
    from apiserver import programs

    programs("etcd", "kube-apiserver")


@pytest.fixture(scope="module", params=[*CLUSTERS, *OTHERS])
def reference(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A cluster with the CRDs of the versions that it uses: they are not vendored here."""
    if not SHARED.exists():
        pytest.skip("../shared is absent")
    if request.param in CLUSTERS:
        root, cluster = ROOT, load(request.param)
    else:
        root, cluster = tmp_path_factory.mktemp("other"), decoded(OTHERS[request.param])
        file = root / "clusters" / cluster.name / "cluster.yaml"
        file.parent.mkdir(parents=True)
        file.write_bytes((ROOT / OTHERS[request.param]).read_bytes())
        assert run(["render", "-C", str(root)]) == 0
    return structs.replace(build(root, cluster), definitions=tuple(crds(cluster)))


@pytest.fixture(scope="module")
def judging(reference: Built, _need: None) -> Iterator[tuple[ApiConnection, Answers]]:
    """A throw-away server that has judged it."""
    with throw_away() as running:
        ours = of_started(running)
        yield ours, dry_run(reference, ours)


def of_the_store() -> Path:
    """The kinds of External Secrets, which a site has, and gen does not install."""
    from apiserver import programs

    (program,) = programs("external-secrets")
    return Path(program).resolve().with_name("crds.yaml")


def fetched(name: str) -> Path:
    """A source of `tools/sources.py`."""
    from apiserver import sources

    return sources(name)


def crds(cluster: "Cluster") -> Iterator["Manifest"]:
    folders = dict.fromkeys(folder for name in CATALOGUE for folder in schemas_of(name, cluster))
    files = [path for folder in folders for path in sorted((SHARED / folder).rglob("*.yaml"))]
    files += [of_the_store()] if cluster.site.secrets else []
    if cluster.networks.exposure:
        files += sorted(fetched("gateway-api").glob("*.yaml"))
        taken = {url.rpartition("/")[2] for version in ENVOY_GATEWAY.known for url in version.manifests}
        files += [path for path in sorted(fetched("envoy-gateway").iterdir()) if path.name in taken]
    read = (one for path in files if CRD.encode() in path.read_bytes() for one in documents(path.read_bytes()))
    return (one for one in read if isinstance(one, dict) and one.get("kind") == CRD)


# What is rendered


def test_the_table_of_kinds_is_what_the_server_serves(user_api: ApiConnection) -> None:
    groups = user_api.ask(Request(path="/apis")).body["groups"]
    names = ["v1", *(version["groupVersion"] for group in groups for version in group["versions"])]
    found = {
        name: user_api.ask(Request(path=f"/api{'s' if '/' in name else ''}/{name}")).body["resources"] for name in names
    }
    served = {
        name: {one["kind"]: one["namespaced"] for one in resources if "/" not in one["name"]}
        for name, resources in found.items()
        if not name.startswith("example.org/")  # other tests define kinds on the same server
    }
    assert server(user_api).version == "v1.35.3"
    assert served == {version: dict(own) for version, own in kinds(35).items()}


def test_every_component_is_in_one_of_the_clusters() -> None:
    clusters = [*map(load, CLUSTERS), *map(decoded, OTHERS.values())]
    assert {component.name for cluster in clusters for component in compose(cluster)} == {*CATALOGUE}


def test_every_object_is_accepted(judging: tuple[ApiConnection, Answers], reference: Built) -> None:
    _, judged = judging
    assert [f"{one.file}: {one.message}" for one in judged.findings] == []
    assert judged.unjudged == ()
    assert judged.judged == len(reference.objects)


def test_a_broken_copy_of_each_kind_is_refused(judging: tuple[ApiConnection, Answers], reference: Built) -> None:
    copies = {
        (one.manifest["apiVersion"], one.kind): structs.replace(one, manifest={**one.manifest, "nonsense": 1})
        for one in reference.objects
    }
    assert len(copies) > 20
    broken = structs.replace(reference, objects=tuple(copies.values()), definitions=())
    judged = dry_run(broken, judging[0])
    found = {(one.object.version, one.object.kind): (one.code, one.at) for one in judged.findings if one.object}
    assert found == dict.fromkeys(copies, ("GEN-SRV-002", ("nonsense",)))


def test_every_pod_is_admitted_to_its_namespace(judging: tuple[ApiConnection, Answers], reference: Built) -> None:
    """Pod Security and priorities: the API server looks at them when the pod comes, not when its maker does."""
    api, _ = judging
    for one in reference.of("PriorityClass"):
        store(api, f"/apis/scheduling.k8s.io/v1/priorityclasses/{one.name}", one.manifest)
    asked = list(pods(reference))
    metadata = [{"labels": one.labels, "generateName": "a-", "namespace": one.namespace} for one in asked]
    claimed = {
        (template.namespace, claim["metadata"]["name"])
        for template in reference.of("WorkflowTemplate")
        for claim in template.spec.get("volumeClaimTemplates", ())
    }
    bodies = [{"metadata": own, "spec": with_claims(one, claimed)} for own, one in zip(metadata, asked, strict=True)]
    answers = [(one, refusal(api, one.namespace, body)) for one, body in zip(asked, bodies, strict=True)]
    assert asked
    assert [f"{one.maker.file}: {why}" for one, why in answers if why] == []


def test_a_pod_is_refused_that_is_too_mighty_or_too_important(
    judging: tuple[ApiConnection, Answers], reference: Built
) -> None:
    api, _ = judging
    level = "pod-security.kubernetes.io/enforce"
    spaces = {one.name: one.manifest["metadata"]["labels"].get(level) for one in reference.of("Namespace")}
    name = next(name for name, level in spaces.items() if level in {"baseline", "restricted"})
    assert "violates PodSecurity" in refusal(api, name, pod(hostNetwork=True))
    assert "no PriorityClass with name nonsense" in refusal(api, name, pod(priorityClassName="nonsense"))


def pod(**spec: object) -> Any:
    security = {
        "allowPrivilegeEscalation": False,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"name": "main", "image": "example.org/x:1", "securityContext": security}
    return {"metadata": {"name": "x"}, "spec": {"containers": [container], **spec}}


def with_claims(one: Any, claimed: set[tuple[str, str]]) -> Any:
    """A StatefulSet gives each of its pods claims of its own, a workflow all of them: here they are volumes that say
    nothing.
    """
    volumes = [
        {"name": own["name"], "emptyDir": {}} if own.get("ephemeral") == {} else own
        for own in one.spec.get("volumes", ())
    ]
    if one.maker.group == "argoproj.io":
        volumes += [{"name": name, "emptyDir": {}} for namespace, name in claimed if namespace == one.namespace]
    return {**one.spec, "volumes": volumes}


def refusal(api: ApiConnection, namespace: str, body: Any) -> str:
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All&fieldValidation=Strict"
    answer = api.ask(Request(path=path, method="POST", body={"apiVersion": "v1", "kind": "Pod", **body}))
    return "" if answer.good else answer.message


PROGRAM = """
import sys
from generator.live.apiserver import throw_away
with throw_away() as started:
    print(started.port, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, None])
def test_nothing_is_left_behind(how: signal.Signals | None, tmp_path: Path) -> None:
    """None: an ordinary end. A killed process can tidy up no folder, but its programs end with it."""
    command = [sys.executable, "-c", PROGRAM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)}, **pipes) as process:  # type: ignore[call-overload]
        assert int(process.stdout.readline())
        assert len(running_in(tmp_path)) == 2
        if how:
            process.send_signal(how)
        process.communicate(timeout=60)
    for _ in range(200):
        if not running_in(tmp_path):
            break
        time.sleep(0.1)
    assert running_in(tmp_path) == []
    assert how is signal.SIGKILL or list(tmp_path.iterdir()) == []


def running_in(folder: Path) -> list[str]:
    """The programs whose command names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in command:
            found.append(command)
    return found


def test_the_command_tells_what_it_did(started: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged = check_server(made(config(nonsense=1), unseen=("cilium",)), None, None)
    assert judged.findings
    assert [one.partition(":")[0] for one in judged.unjudged] == ["by a throw-away server"]
    said = capsys.readouterr()
    assert said.out == ""
    assert "folder: 1 object judged by a throw-away kube-apiserver, Kubernetes v1.35.3, in " in said.err
    assert "not vendored, so not judged: what cilium bring" in said.err
    assert "immutable fields" in said.err
    judged = check_server(made(config()), kubeconfig(tmp_path, started), "here")
    assert (judged.findings, judged.unjudged) == ((), ())
    said = capsys.readouterr()
    assert f"judged by {started.url} as admin, Kubernetes v1.35.3" in said.err
    with pytest.raises(UsageError, match="give --kubeconfig as well"):
        check_server(made(config()), None, "here")
