from typing import Any

import pytest
from manifests import found, manifest, reached, workload

from generator.rules import budgets

LETS_GO, SINGLE, ALONE = budgets.lets_go, budgets.single_pod, budgets.one_budget
ALL = {"matchLabels": {"app": "x"}}


def budget(name: str = "x", selector: Any = ALL, **numbers: Any) -> Any:
    return manifest("PodDisruptionBudget", "policy/v1", name=name, spec={"selector": selector, **numbers})


@pytest.mark.parametrize(
    ("replicas", "numbers"),
    [
        (2, {"minAvailable": 2}),
        (2, {"minAvailable": 3}),
        (2, {"minAvailable": "100%"}),
        (2, {"minAvailable": "51%"}),
        (3, {"maxUnavailable": 0}),
        (3, {"maxUnavailable": "0%"}),
    ],
)
def test_a_budget_that_lets_nothing_go_is_found(replicas: int, numbers: dict[str, Any]) -> None:
    (problem,) = found(LETS_GO, budget(**numbers), workload(replicas=replicas))
    assert problem.message == f"no one of {replicas} pods may ever go"
    assert reached(problem) == next(iter(numbers.values()))
    assert found(SINGLE, budget(**numbers), workload(replicas=replicas)) == []


@pytest.mark.parametrize(
    ("replicas", "numbers"),
    [
        (2, {"minAvailable": 1}),
        (2, {"minAvailable": "50%"}),
        (3, {"maxUnavailable": 1}),
        (3, {"maxUnavailable": "1%"}),
        (1, {"maxUnavailable": 1}),
        (0, {"minAvailable": 1}),
        (2, {}),
    ],
)
def test_a_budget_that_lets_one_go_is_not(replicas: int, numbers: dict[str, Any]) -> None:
    for rule in (LETS_GO, SINGLE):
        assert found(rule, budget(**numbers), workload(replicas=replicas)) == []


@pytest.mark.parametrize("numbers", [{"minAvailable": 1}, {"maxUnavailable": 0}, {"minAvailable": "1%"}])
def test_a_budget_for_one_pod_is_a_warning(numbers: dict[str, Any]) -> None:
    (problem,) = found(SINGLE, budget(**numbers), workload(replicas=1))
    assert problem.severity == "warning"
    assert found(LETS_GO, budget(**numbers), workload(replicas=1)) == []


def test_pods_that_nobody_here_makes_are_judged_by_the_budget_alone() -> None:
    (problem,) = found(LETS_GO, budget(maxUnavailable=0))
    assert problem.message == "no one of however many pods may ever go"
    assert found(LETS_GO, budget(minAvailable=2)) == []


def test_an_autoscaler_says_how_many_there_may_be() -> None:
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "x"}, "minReplicas": 1, "maxReplicas": 4}
    scaler = manifest("HorizontalPodAutoscaler", "autoscaling/v2", spec=spec)
    assert len(found(SINGLE, budget(minAvailable=1), workload(replicas=1))) == 1
    assert found(SINGLE, budget(minAvailable=1), workload(replicas=1), scaler) == []


def test_a_budget_counts_only_pods_of_its_namespace_and_labels() -> None:
    assert found(LETS_GO, budget(minAvailable=2), workload(replicas=2, namespace="other")) == []
    other = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}
    assert found(LETS_GO, budget(selector=other, minAvailable=2), workload(replicas=2)) == []
    assert len(found(LETS_GO, budget(selector={}, minAvailable=2), workload(replicas=2))) == 1


def test_two_budgets_for_the_same_pods_are_found() -> None:
    same = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}
    (problem,) = found(ALONE, budget("a", maxUnavailable=1), budget("b", same, maxUnavailable=1), workload())
    assert problem.about == "PodDisruptionBudget tools/b"
    assert problem.message == "pods of Deployment tools/x have another budget, PodDisruptionBudget tools/a"
    reached(problem)
    assert found(ALONE, budget("a", maxUnavailable=1), budget("b", {"matchLabels": {"app": "y"}}), workload()) == []
