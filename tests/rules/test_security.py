"""Pod Security without a server: `tests/real/test_podsecurity.py` holds the same pods against a real one."""

from typing import Any

import pytest
from manifests import Seen, built, container, found, manifest, ml50, reached, workload
from msgspec import structs
from podsecurity_cases import CASES, good, pod

from generator.rules import podsecurity, security

BASELINE, RESTRICTED = security.baseline, security.restricted
ENFORCE = "pod-security.kubernetes.io/enforce"


def space(level: str, **labels: str) -> Any:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x", "labels": {ENFORCE: level, **labels}}}


def judged(manifest: Any, level: str) -> list[Seen]:
    return [one for rule in (BASELINE, RESTRICTED) for one in found(rule, space(level), manifest)]


@pytest.mark.parametrize("level", ["privileged", "baseline", "restricted"])
@pytest.mark.parametrize(("strictest", "changes"), CASES)
def test_a_level_takes_what_it_should(strictest: str, changes: dict[str, Any], level: str) -> None:
    order = ["privileged", "baseline", "restricted"]
    assert (not judged(pod("x", changes), level)) == (order.index(level) <= order.index(strictest))


@pytest.mark.parametrize(("strictest", "changes"), CASES)
def test_a_problem_leads_to_the_field(strictest: str, changes: dict[str, Any]) -> None:
    problems = judged(pod("x", changes), "restricted")
    assert bool(problems) == (strictest != "restricted")
    for problem in problems:
        reached(problem)
        assert problem.fix
        assert "namespace x enforces `restricted`" in problem.message


GROUPS = (podsecurity.BASELINE, podsecurity.RESTRICTED)
CONTROLS = [(group, control) for group in GROUPS for control in group]
# The API server refuses this one before it looks at levels, since 1.33.
MORE = [{"containers.0.securityContext.procMount": "Unmasked"}]


@pytest.mark.parametrize(("group", "control"), CONTROLS, ids=lambda value: getattr(value, "__name__", ""))
def test_some_case_needs_this_control(group: tuple[podsecurity.Control, ...], control: podsecurity.Control) -> None:
    """Nothing else of its level would tell of it; host processes need the host's network, which is told as well."""
    beside = podsecurity.host_namespaces if control is podsecurity.host_process else control
    others = tuple(one for one in group if one not in (control, beside))
    wholes = [built(space("restricted"), pod("x", changes)) for changes in (*MORE, *(each for _, each in CASES))]
    alone = [
        whole
        for whole in wholes
        if any(security.forbidden(whole, (control,), {"restricted"}))
        and not any(security.forbidden(whole, others, {"restricted"}))
    ]
    assert alone


def test_a_maker_of_pods_is_judged_by_its_template() -> None:
    job = manifest("CronJob", "batch/v1", namespace="x")
    job["spec"] = {"jobTemplate": {"spec": {"template": {"spec": {"containers": [container()], "hostPID": True}}}}}
    (problem,) = found(BASELINE, space("baseline"), job)
    assert problem.at == ("spec", "jobTemplate", "spec", "template", "spec", "hostPID")
    assert problem.code == "GEN-POD-001"


def test_a_namespace_that_is_not_here_enforces_nothing() -> None:
    assert not found(BASELINE, workload(hostPID=True))


def test_older_rules_where_a_namespace_or_a_cluster_names_them() -> None:
    asking = workload(namespace="x", containers=[container(livenessProbe={"httpGet": {"host": "10.0.0.1"}})])
    assert found(BASELINE, space("baseline"), asking)
    assert not found(BASELINE, space("baseline", **{f"{ENFORCE}-version": "v1.33"}), asking)
    assert found(BASELINE, space("baseline", **{f"{ENFORCE}-version": "latest"}), asking)
    older = structs.replace(ml50(), kubernetes=structs.replace(ml50().kubernetes, version="1.33.5"))
    assert not found(BASELINE, space("baseline"), asking, cluster=older)


def test_what_baseline_forbids_is_told_once() -> None:
    changes = {"volumes": [{"name": "v", "hostPath": {"path": "/"}}], "hostNetwork": True}
    codes = [problem.code for problem in judged(pod("x", changes), "restricted")]
    assert codes == ["GEN-POD-001", "GEN-POD-001"]


def test_a_good_pod_is_right_for_the_rules_of_every_minor() -> None:
    whole = built(space("restricted"), workload(namespace="x", **good()))
    assert [problem for rule in (BASELINE, RESTRICTED) for problem in rule.findings(whole)] == []
