from typing import Any

import pytest
from manifests import built, found, manifest, ml50, reached
from msgspec import structs

from generator.build.kinds import CRD
from generator.rules.job_operators import operated
from generator.rules.unknown_kinds import known_kinds


def job(kind: str, version: str = "kubeflow.org/v1") -> Any:
    return manifest(kind, version, namespace="vision", spec={})


def test_a_kind_that_nobody_runs_is_refused_with_those_that_run() -> None:
    (problem,) = found(operated, job("PyTorchJob"), cluster=ml50())
    assert reached(problem) == "PyTorchJob"
    assert problem.message == "ml50 has nothing that runs a PyTorchJob (no component of gen does)"
    assert "PyTorchJob" not in problem.fix
    assert "TFJob" in problem.fix
    without = structs.replace(ml50(), frameworks=())
    (absent,) = found(operated, job("TFJob"), cluster=without)
    assert "component training-operator: " in absent.message
    assert absent.fix.startswith("make one of Job; ")
    # No CRD of it would help, and `gen vendor` brings none.
    assert found(known_kinds, job("PyTorchJob"), cluster=ml50()) == []


@pytest.mark.parametrize("kind", ["TFJob", "Canary"])
def test_what_runs_and_what_is_no_job_is_left_to_its_crd(kind: str) -> None:
    assert found(operated, job(kind), cluster=ml50()) == []
    assert len(found(known_kinds, job(kind), cluster=ml50())) == 1


def test_what_somebody_else_brings_runs() -> None:
    names = {"kind": "PyTorchJob", "plural": "pytorchjobs"}
    crd = manifest(CRD, "apiextensions.k8s.io/v1", spec={"group": "kubeflow.org", "names": names, "versions": []})
    assert found(operated, job("PyTorchJob"), crd, cluster=ml50()) == []
    assert found(operated, job("PyTorchJob")) == []
    own = structs.replace(built(job("PyTorchJob"), cluster=ml50()), unseen=("an-operator-of-ours",))
    assert [*operated.findings(own)] == []
