"""`gen rehearse --argocd` on a small cluster: what Argo CD itself makes of a change, on a twin that it brought up."""

import json
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

pytestmark = pytest.mark.twin

Object = dict[str, Any]
HOUSE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: house, namespace: house}
"""
OF_KUEUE = "kueue-system"
IMMUTABLE = {
    f"Deployment {NAMESPACE}/fixed": "spec.selector",
    f"Job {NAMESPACE}/once": "spec.template",
    f"Job {NAMESPACE}/remade": "spec.template",
}
"""What the API server refuses of the faults, and the field. `Force=true,Replace=true` is no way round it."""


def exported() -> Object:
    """A Deployment as somebody copied it from a cluster: its controller counts this annotation, and writes it back."""
    one = deployment("copied", "copied", namespace=OF_KUEUE)
    one["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "7"}
    return one


def note(said: str) -> Object:
    metadata = {"name": "note", "namespace": OF_KUEUE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"said": said}}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """What stands: two Deployments, two Jobs, a note, and a component of one's own."""
    refuse_without_programs("argocd", "redis-server")
    made = Repository(tmp_path_factory.mktemp("argo"))
    jobs = job("once", "one"), job("remade", "one", REMADE)
    made.custom("volcano", deployment("fixed", "fixed"), deployment("left", "left"), *jobs)
    made.custom("kueue", note("one"))
    folder = made.root / "apps" / "house"
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text("resources: [all.yaml]\n")
    (folder / "all.yaml").write_text(HOUSE)
    extras(made, house={"namespace": "house", "folder": "apps/house"})
    made.commit()
    return made


def extras(repository: Repository, **own: Object) -> None:
    spec = yaml.load(repository.file.read_bytes(), yaml.CSafeLoader)
    spec["spec"]["extras"] = own
    repository.file.write_text(yaml.safe_dump(spec, sort_keys=False))
    done = repository.gen("render")
    assert done.returncode == 0, done.stdout + done.stderr


def rehearsed(repository: Repository, code: int) -> Object:
    done = repository.gen("rehearse", "HEAD", "--argocd", "--output", "json")
    assert done.returncode == code, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["clusters"]
    return dict(found)


@pytest.fixture(scope="module")
def harmless(repository: Repository) -> Object:
    """What is said of another note, on a twin that Argo CD brought up from nothing."""
    repository.custom("kueue", note("two"))
    return rehearsed(repository, 0)


@pytest.fixture(scope="module")
def faults(repository: Repository, harmless: Object) -> Object:
    """What is said of a change with faults, on the twin that was kept."""
    assert harmless
    jobs = job("once", "two"), job("remade", "two", REMADE)
    repository.custom("volcano", deployment("fixed", "other"), deployment("more", "more"), *jobs)
    repository.custom("kueue", note("three"), exported())
    repository.custom("queues", WIDGET)
    repository.custom("tenants", DEFINITION)
    extras(repository)
    return rehearsed(repository, 1)


def test_a_comment_is_nothing(repository: Repository) -> None:
    before = repository.file.read_text()
    repository.file.write_text(f"# A comment.\n{before}")
    done = repository.gen("rehearse", "HEAD", "--argocd")
    repository.file.write_text(before)
    assert (done.returncode, done.stdout) == (0, "nothing differs in what is applied: there is nothing to rehearse\n")


def test_argo_cd_brings_a_cluster_up_in_its_waves_and_a_harmless_change_says_nothing(harmless: Object) -> None:
    assert (harmless["happened"], harmless["disagreements"]) == ([], [])
    assert (harmless["kept"], harmless["argocd"], harmless["objects"][1]) == (False, True, 1)
    began = [one["began"] for one in harmless["before"]]
    assert len(began) == 4
    assert began == sorted(began)
    assert [one for wave in harmless["before"] for one in wave["hung"]] == []
    (wave,) = harmless["waves"]
    assert wave["applications"] == ["kueue"]


def test_what_argo_cd_brought_up_once_is_kept(faults: Object) -> None:
    assert faults["kept"]


def test_what_comes_before_its_kind_is_refused_and_holds_up_what_it_stands_beside(faults: Object) -> None:
    refused = happened(faults, "refused")
    assert refused.keys() == {"Widget early", *IMMUTABLE}
    assert 'no matches for kind "Widget"' in refused["Widget early"]["why"]
    held = happened(faults, "never ready")
    assert "its sync fails at Widget early" in held["Application queues"]["why"]


def test_each_immutable_field_is_named_in_the_api_servers_words_and_nothing_beside_it_is_synced(faults: Object) -> None:
    """Argo CD itself names but the first, in a condition: it never begins a sync that could fail."""
    refused = happened(faults, "refused")
    for name, field in IMMUTABLE.items():
        assert f"{field}: Invalid value" in refused[name]["why"]
        assert refused[name]["why"].endswith("field is immutable")
        assert refused[name]["foretold"].startswith("impossible")
    why = happened(faults, "never ready")["Application volcano"]["why"]
    assert "Argo CD cannot compare it, and syncs nothing of it: " in why
    assert all(name in why for name in IMMUTABLE)
    assert why.endswith("1 other object of it not applied")
    assert [one for one in faults["disagreements"] if NAMESPACE in one] == []


def test_what_argo_cd_can_never_settle_is_found_with_the_field(faults: Object) -> None:
    differing = happened(faults, "differs for ever")
    assert "metadata.annotations.deployment.kubernetes.io/revision" in differing[f"Deployment {OF_KUEUE}/copied"]["why"]


def test_what_leaves_waits_for_a_person_and_its_objects_go_with_it(faults: Object) -> None:
    waits = happened(faults, "waits")
    assert list(waits) == ["Application argocd/house"]
    assert "once it was confirmed, 1 object of it went along" in waits["Application argocd/house"]["why"]
