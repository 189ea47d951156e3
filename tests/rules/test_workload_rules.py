"""What holds for every rule about workloads: it never raises, explains itself, and is content with what we render."""

import re
from contextlib import suppress
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifests import container, manifest, ml50, reached, seen
from msgspec import structs
from reference import ROOT, load

from generator.build.applications import build
from generator.build.objects import Built, Object
from generator.model.cluster import Cluster
from generator.model.fields import dig, walk
from generator.model.rule import Rule, rules
from generator.rules import (
    autoscaling,
    budgets,
    claims,
    images,
    launchers,
    placement,
    queues,
    resources,
    secrets,
    security,
    services,
    team_pods,
)
from tools import need_kustomize

MODULES = (
    autoscaling,
    budgets,
    claims,
    images,
    launchers,
    placement,
    queues,
    resources,
    secrets,
    security,
    services,
    team_pods,
)
RULES = list(rules(MODULES).values())

PARTS = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8), st.binary(max_size=3),
        st.sampled_from(["In", "Gt", "50%", "1Gi", "ALL", "a:latest", "{{workflow.parameters.x}}", "--password"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


def busy_pod() -> Any:
    """Make a pod that sets every field that a rule looks at."""
    profile = {"type": "RuntimeDefault"}
    context = {
        "privileged": False, "procMount": "Default", "runAsUser": 1, "runAsNonRoot": True, "seccompProfile": profile,
        "capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}, "allowPrivilegeEscalation": False,
        "appArmorProfile": profile, "seLinuxOptions": {"type": "container_t", "user": "", "role": ""},
        "windowsOptions": {"hostProcess": False}, "sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}],
    }  # fmt: skip
    probe = {"httpGet": {"host": "", "port": 80}, "tcpSocket": {"host": ""}}
    one = container(
        securityContext=context,
        resources={"requests": {"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 1}},
        ports=[{"containerPort": 80, "hostPort": 0}],
        livenessProbe=probe,
        lifecycle={"preStop": probe},
        env=[{"name": "PASSWORD", "value": "$(X)"}],
        args=["--password", "$X"],
        restartPolicy="Always",
    )
    terms = [{"matchExpressions": [{"key": "gen.internal/pool", "operator": "In", "values": ["cpu"]}]}]
    wanted = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {
        "containers": [one], "initContainers": [container()], "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
        "securityContext": context, "nodeSelector": {"kubernetes.io/os": "linux"}, "hostUsers": True,
        "affinity": {"nodeAffinity": wanted}, "os": {"name": "linux"}, "schedulerName": "volcano",
        "tolerations": [{"key": "a", "operator": "Exists", "value": "", "effect": "NoSchedule"}], "nodeName": "",
    }  # fmt: skip
    return {"metadata": {"labels": {"app": "x"}, "annotations": {"a": "b"}}, "spec": spec}


def idle_pod() -> Any:
    """Make a pod that says little."""
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container()]}}


def argo(**spec: Any) -> Any:
    """Make what a workflow says, with a template that is a whole pod."""
    pod = {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a"}], "volumes": [{"name": "v"}]}
    template = {**pod, "container": container(args=["{{workflow.parameters.x}}"]), "sidecars": [container()]}
    several = {"containerSet": {"containers": [container()]}, "metadata": {"labels": {"a": "b"}}}
    given = {"parameters": [{"name": "x", "value": "y"}]}
    shared = {"podMetadata": {"labels": {"a": "b"}}, "arguments": given}
    return {**pod, "templates": [template, several, {"script": {"image": "x:1"}}], **shared, **spec}


def examples() -> list[Any]:
    """Make one object of each sort that rules look at."""
    team = {"namespace": "vision"}
    target = {"scaleTargetRef": {"kind": "Deployment", "name": "x"}, "maxReplicas": 3}
    called = {"workflowSpec": {"workflowTemplateRef": {"name": "x", "clusterScope": False}, "nodeSelector": {"a": "b"}}}
    labels = {"pod-security.kubernetes.io/enforce": "restricted", "gen.internal/team": "vision"}
    rules = [{"key": "app", "operator": "In", "values": ["x"]}]
    selector = {"matchLabels": {"app": "x"}, "matchExpressions": rules}
    claims = [{"metadata": {"name": "data"}}]
    return [
        manifest("Pod", **team, spec=busy_pod()["spec"]),
        *(
            manifest(
                kind, "apps/v1", **team, spec={"template": idle_pod(), "replicas": 2, "volumeClaimTemplates": claims}
            )
            for kind in ("Deployment", "StatefulSet", "DaemonSet")
        ),
        manifest("CronJob", "batch/v1", **team, spec={"jobTemplate": {"spec": {"template": idle_pod()}}}),
        manifest("Job", "batch.volcano.sh/v1alpha1", **team, spec={"tasks": [{"template": idle_pod()}]}),
        manifest("WorkflowTemplate", "argoproj.io/v1alpha1", **team, spec=argo()),
        manifest("CronWorkflow", "argoproj.io/v1alpha1", **team, spec=called),
        manifest("PodDisruptionBudget", "policy/v1", **team, spec={"selector": selector, "minAvailable": "50%"}),
        manifest("HorizontalPodAutoscaler", "autoscaling/v2", **team, spec=target),
        manifest("ClusterPolicy", "nvidia.com/v1", spec={"daemonsets": {"tolerations": [{"operator": "Exists"}]}}),
        manifest("ResourceFlavor", "kueue.x-k8s.io/v1beta2", spec={"nodeLabels": {"gen.internal/pool": "cpu"}}),
        manifest("ConfigMap", data={"x": "password: $X"}),
        manifest("Secret", data={"x": ""}),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision", "labels": labels}},
    ]


def places(one: Any) -> list[Any]:
    """Return the paths of an object that may be damaged: what Object itself is sure of may not."""
    sure = {("metadata",), ("metadata", "name"), ("kind",)}
    return [at for at, _ in walk(one) if at and at not in sure]


def put(one: Any, at: Any, value: Any) -> None:
    *way, last = at
    # A damage may have made keys that no path leads through.
    with suppress(IndexError, TypeError):
        dig(one, *way)[last] = value


def judge(manifests: list[Any], cluster: Cluster | None) -> None:
    """Run every rule: none may raise, or lead to what is not there."""
    objects = tuple(Object(one, "cilium", "x.yaml") for one in manifests)
    whole = Built(name="x", cluster=cluster, objects=objects)
    for rule in RULES:
        for problem in seen(rule, whole):
            reached(problem)
            assert problem.message


BAD: list[Any] = [None, -1, 1.5, "x", "{{x}}", b"x", ["x"], [[]], {"x": []}, {1: {}}]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_any_one_part_may_be_wrong(bad: Any) -> None:
    for example in examples():
        copies = [(deepcopy(example), at) for at in places(example)]
        for copy, at in copies:
            put(copy, at, bad)
        judge([*examples(), *(copy for copy, _ in copies)], small())


@st.composite
def damaged(draw: st.DrawFn) -> list[Any]:
    """Draw objects of which several parts are something else than they should be."""
    found = examples()
    for one in draw(st.lists(st.sampled_from(found), min_size=1, max_size=6)):
        put(one, draw(st.sampled_from(places(one))), draw(PARTS))
    return found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(damaged(), st.booleans())
def test_any_parts_may_be_wrong(manifests: list[Any], alone: bool) -> None:  # noqa: FBT001
    judge(manifests, None if alone else small())


@cache
def small() -> Cluster:
    """Return a cluster with a node of each pool."""
    one_each = {machine.pool: machine for machine in reversed(ml50().machines)}
    return structs.replace(ml50(), machines=tuple(one_each.values()))


def test_codes_are_different() -> None:
    codes = [rule.code for rule in RULES]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"GEN-(POD|IMG|SEC|PDB|QUEUE|JOB|HPA|VOL)-\d{3}", code) for code in codes)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_explains_itself(rule: Rule[Built]) -> None:
    assert len(rule.why) > 40
    assert rule.wrong != rule.right
    assert rule.wrong.endswith("\n")
    assert rule.right.endswith("\n")


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("clusters/*/cluster.yaml")))
def test_the_reference_clusters_are_clean(name: str) -> None:
    need_kustomize()
    built = build(ROOT, load(name))
    assert len(built.objects) > 60
    assert [(problem.code, problem.about, problem.message) for rule in RULES for problem in rule.findings(built)] == []
