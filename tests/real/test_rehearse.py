"""`gen rehearse` on a small cluster: what a change does that no file shows, on real Kueue, Volcano and API server."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from rehearsing import (
    DEFINITION,
    NAMESPACE,
    REMADE,
    WIDGET,
    Repository,
    deployment,
    happened,
    job,
    refuse_without_programs,
)

from generator.errors import UsageError
from generator.rehearsal.twin.plane import services

pytestmark = pytest.mark.twin

Object = dict[str, Any]
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web", "namespace": NAMESPACE},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
}
CERTIFICATES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "certificates.cert-manager.io"},
    "spec": {
        "group": "cert-manager.io",
        "scope": "Namespaced",
        "names": {
            "kind": "Certificate",
            "plural": "certificates",
            "singular": "certificate",
            "listKind": "CertificateList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
CERTIFICATE = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "Certificate",
    "metadata": {"name": "web", "namespace": NAMESPACE},
    "spec": {"secretName": "web-tls"},
}
OPERATED = (CERTIFICATES, CERTIFICATE)
NOBODY = [{"op": "replace", "path": "/spec/namespaceSelector", "value": {"matchLabels": {"no": "team"}}}]


def remade_as(image: str) -> Object:
    """A Deployment that Argo CD deletes and makes again with each change."""
    one = deployment("remade", "remade", image)
    return one | {"metadata": one["metadata"] | {"annotations": REMADE}}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository with a change of five faults, and of what is well."""
    refuse_without_programs()
    repository = Repository(tmp_path_factory.mktemp("faults"))
    remade = remade_as("one"), job("once", "one", REMADE)
    repository.custom(
        "volcano",
        *(deployment("web", "web"), deployment("fixed", "fixed"), deployment("left", "left"), *remade, *OPERATED),
    )
    repository.commit()
    repository.quotas(red=4, blue=8)
    remade = remade_as("two"), job("once", "two", REMADE)
    kept = BUDGET, *OPERATED
    repository.custom("volcano", deployment("web", "web", "two"), deployment("fixed", "other"), *remade, *kept)
    patch = {"target": {"kind": "ClusterQueue", "name": "green"}, "patch": yaml.safe_dump(NOBODY)}
    repository.custom("queues", WIDGET, patches=[patch])
    repository.custom("tenants", DEFINITION)
    return repository


@pytest.fixture(scope="module", params=["brought anew", "as an earlier rehearsal left it"])
def faults(request: pytest.FixtureRequest, faulty: Repository) -> Object:
    """What is said of the faults, on a twin that was brought to what stands, and on one that was kept."""
    if request.param == "brought anew":
        shutil.rmtree(faulty.cache / "twins", ignore_errors=True)
    done = faulty.gen("rehearse", "HEAD", "--output", "json")
    assert done.returncode == 1, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["clusters"]
    assert found["kept"] == (request.param != "brought anew")
    return dict(found)


def test_a_quota_that_preempts_is_found_with_the_reason_of_kueue(faults: Object) -> None:
    stopped = happened(faults, "job stopped")
    assert list(stopped) == ["red/own-bench"]
    assert "InCohortReclamation" in stopped["red/own-bench"]["why"]
    assert "preempts" in stopped["red/own-bench"]["foretold"]


def test_an_immutable_field_is_refused_as_foretold(faults: Object) -> None:
    refused = happened(faults, "refused")
    assert refused.keys() == {f"Deployment {NAMESPACE}/fixed", f"Job {NAMESPACE}/once"}
    for told in refused.values():
        assert "field is immutable" in told["why"]
        assert told["foretold"].startswith("impossible")


def test_a_budget_that_blocks_is_found(faults: Object) -> None:
    blocked = happened(faults, "budget blocks")
    assert list(blocked) == [f"PodDisruptionBudget {NAMESPACE}/web"]
    assert "needs 2 healthy pods and has 2 currently" in blocked[f"PodDisruptionBudget {NAMESPACE}/web"]["why"]


def test_a_queue_that_lets_nothing_in_is_found(faults: Object) -> None:
    closed = happened(faults, "queue closed")
    assert list(closed) == ["ClusterQueue green"]
    assert "namespace doesn't match" in closed["ClusterQueue green"]["why"]


def test_what_comes_before_what_it_needs_is_found(faults: Object) -> None:
    assert list(happened(faults, "too early")) == ["Widget early"]


def test_pods_that_are_replaced_and_what_is_deleted_are_told(faults: Object) -> None:
    assert happened(faults, "pods replaced")[f"Deployment {NAMESPACE}/web"]["why"] == "2 of 2"
    assert happened(faults, "deleted").keys() == {f"Deployment {NAMESPACE}/left", f"Deployment {NAMESPACE}/remade"}


def test_what_an_operator_would_bring_is_played_and_told(faults: Object) -> None:
    told = faults["not_proven"]
    assert "played: the status of each Certificate, for cert-manager" in told
    assert f"played: Secret {NAMESPACE}/web-tls, for cert-manager" in told
    assert [one for one in told if one.startswith("taken for ready") and "cert-manager.io/Certificate" in one] == []


def test_nothing_else_is_said(faults: Object) -> None:
    events = [one["event"] for one in faults["happened"]]
    assert sorted(set(events)) == [
        "budget blocks", "deleted", "job stopped", "pods replaced", "queue closed", "refused", "too early",
    ]  # fmt: skip
    assert faults["waves"]


def test_a_comment_is_nothing(tmp_path: Path) -> None:
    repository = Repository(tmp_path)
    repository.commit()
    repository.file.write_text(f"# A comment.\n{repository.file.read_text()}")
    done = repository.gen("rehearse", "HEAD")
    assert (done.returncode, done.stdout) == (0, "nothing differs in what is applied: there is nothing to rehearse\n")


def test_a_harmless_change_is_played_and_nothing_is_said(tmp_path: Path) -> None:
    """The control: a ConfigMap, with full queues; on a twin that was kept as well, and again where that was damaged."""
    refuse_without_programs()
    repository = Repository(tmp_path)
    note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note", "namespace": NAMESPACE}}
    repository.custom("volcano", note | {"data": {"said": "one"}})
    repository.commit()
    repository.custom("volcano", note | {"data": {"said": "two"}})
    assert_nothing_happens(repository, kept=False)
    assert_nothing_happens(repository, kept=True)
    (data,) = repository.cache.glob("twins/*/etcd/data/member/snap/db")
    data.write_bytes(b"no database")
    assert_nothing_happens(repository, kept=False)
    assert_nothing_happens(repository, kept=True)


def test_addresses_that_another_twin_has_are_not_shared() -> None:
    """A twin that was kept needs its own: while they are taken, another one is brought to what stands."""
    refuse_without_programs()
    with services() as taken, pytest.raises(UsageError, match="are free"), services(taken):
        pass
    with services(taken) as again:
        assert again == taken


def assert_nothing_happens(repository: Repository, *, kept: bool) -> None:
    done = repository.gen("rehearse", "HEAD", "--output", "json")
    (found,) = json.loads(done.stdout)["clusters"]
    assert (done.returncode, found["happened"], found["disagreements"]) == (0, [], []), done.stderr
    assert (found["objects"][1], found["kept"]) == (1, kept)
    assert found["jobs"] >= 3
