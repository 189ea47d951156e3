"""What holds for all rules together."""

import json
import re
from copy import deepcopy
from functools import reduce
from operator import getitem
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from manifests import built, manifest, ml50
from msgspec import structs

from generator.build import broken
from generator.build.manifests import documents
from generator.build.objects import Built, Object, TargetedPatch
from generator.components import compose
from generator.layout.tree import lay_out
from generator.model.cluster import Cluster
from generator.model.fields import walk
from generator.model.rule import Explained, explained
from generator.rules import waivers
from generator.rules.engine import MODULES, RULES, examine, unjudged
from generator.rules.mentions import NAMES, READERS

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=4), st.binary(max_size=2),
    st.sampled_from(["x", "80", "Exists", "In", "kubernetes.io/metadata.name", "{{x}}", "In", "*", "["]),
)  # fmt: skip
KEYS = st.sampled_from([
    "a", "annotations", "apiGroups", "backend", "ca", "clientConfig", "containers", "destination", "destinations",
    "env", "envFrom", "flavors", "from", "http", "ingress", "items", "kind", "kinds", "labels", "matchExpressions",
    "matchLabels", "metadata", "name", "namespaceSelector", "names", "operator", "key", "values", "paths",
    "podSelector", "port", "ports", "resourceGroups", "roleRef", "rules", "secretName", "selector", "service",
    "source", "spec",
    "steps", "subjects", "template", "templates", "tls", "valueFrom", "versions", "volumes", "webhooks", "dataPools",
    "parameters", "provisioner", "serverName", "endpoints", "livenessProbe", "httpGet", "workflowSpec", "sources",
]) | st.integers()  # fmt: skip
PARTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
KINDS = sorted({
    *NAMES, *READERS, "Service", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor", "AppProject", "Deployment",
    "Pod", "Namespace", "Secret", "ConfigMap", "CephBlockPool", "CephFilesystem", "Prometheus", "Driver", "Widget",
})  # fmt: skip
VERSIONS = [
    "v1",
    "apps/v1",
    "networking.k8s.io/v1",
    "argoproj.io/v1alpha1",
    "apiextensions.k8s.io/v1",
    "example.org/v1",
]


@st.composite
def objects(draw: st.DrawFn) -> Any:
    """Make something that has the head of an object and anything below it."""
    head = manifest(draw(st.sampled_from(KINDS)), draw(st.sampled_from(VERSIONS)), name=draw(st.sampled_from("xy")))
    head["metadata"] |= draw(
        st.fixed_dictionaries({}, optional={"labels": PARTS, "annotations": PARTS, "namespace": PARTS})
    )
    keys = ("spec", "parameters", "roleRef", "subjects", "webhooks", "provisioner", "data", "items", "template")
    return head | draw(st.fixed_dictionaries({"spec": PARTS}, optional=dict.fromkeys(keys[1:], PARTS)))


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(objects(), max_size=4), st.booleans(), st.dictionaries(st.sampled_from(["kind", "name"]), st.text()))
def test_no_object_makes_a_rule_raise(manifests: list[Any], within: bool, target: dict[str, str]) -> None:  # noqa: FBT001
    given_ = built(*manifests, cluster=ml50() if within else None)
    whole = structs.replace(given_, patches=(TargetedPatch("x", "f", 0, target),), unseen=("cilium",) if within else ())
    examine(whole)
    list(unjudged(whole))


def one_of_each_kind() -> list[Any]:
    """Return real objects: those of a reference cluster, its Applications, and of kinds that it has not."""
    cluster = ml50()
    held = [one for component in compose(cluster) for one in (*component.base, *component.objects)]
    held += [one for component in compose(cluster) for each in component.operations for one in each.templates]
    files = [content for path, content in lay_out(cluster).files.items() if "/argocd/app" in path]
    held += [one for content in files for one in documents(content)]
    return [*{(one["apiVersion"], one["kind"]): one for one in held}.values(), *OTHERS]


TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "x:1.0.0"}]}}
EXCLUDED = [{"apiGroups": [""], "kinds": ["Endpoints"], "clusters": []}]
OTHERS = [
    manifest("Deployment", "apps/v1", spec={"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}),
    manifest("ServiceMonitor", "monitoring.coreos.com/v1", spec={"selector": {"matchLabels": {}}, "endpoints": [{}]}),
    manifest("ValidatingWebhookConfiguration", webhooks=[{"clientConfig": {"service": {"name": "x"}}}]),
    manifest("HorizontalPodAutoscaler", spec={"scaleTargetRef": {"kind": "Deployment", "name": "x"}}),
    manifest("VolumeSnapshot", spec={"volumeSnapshotClassName": "x"}),
    manifest("ConfigMap", name="argocd-cm", data={"resource.exclusions": json.dumps(EXCLUDED)}),
    manifest("APIService", spec={"service": {"name": "x", "namespace": "x"}}),
    manifest("Job", "batch.volcano.sh/v1alpha1", spec={"queue": "x", "tasks": [{"template": TEMPLATE}]}),
    manifest("Prometheus", "monitoring.coreos.com/v1"),
]


JUNK: tuple[Any, ...] = (
    None,
    0,
    True,
    1.5,
    "x",
    "[",
    [],
    {},
    [{}],
    [[]],
    {"a": []},
    {"name": {}},
    {1: 2},
    ["x"],
    [None],
)


@pytest.mark.parametrize("seed", range(25))
def test_no_value_in_the_wrong_place_makes_a_rule_raise(seed: int) -> None:
    chance, manifests = Random(seed), deepcopy(REAL)
    for one in manifests:
        for _ in range(chance.randrange(4)):
            # Without its head it would not have been read as an object.
            places = [at for at, _ in walk(one) if len(at) > 1 and at != ("metadata", "name")]
            *way, last = chance.choice(places or [("spec",)])
            reduce(getitem, way, one)[last] = deepcopy(chance.choice(JUNK))
    within = structs.replace(built(*manifests, cluster=ml50()), unseen=("cilium",))
    examine(within)
    list(unjudged(within))


REAL = one_of_each_kind()


def test_findings_come_in_the_order_of_files_whatever_the_order_of_objects() -> None:
    service = manifest("Service", spec={"prots": 1})
    pods = [Object(service, "", f"{letter}.yaml") for letter in "bca"]
    found = examine(Built(name="x", cluster=None, objects=tuple(pods)))
    again = examine(Built(name="x", cluster=None, objects=tuple(reversed(pods))))
    assert [one.file for one in found] == sorted(one.file for one in found)
    assert [(one.file, one.message) for one in found if one.code != "GEN-ARGO-001"] == [
        (one.file, one.message) for one in again if one.code != "GEN-ARGO-001"
    ]


EXPLAINED = explained(MODULES, [waivers, broken])


@pytest.mark.parametrize("rule", EXPLAINED.values(), ids=EXPLAINED)
def test_every_rule_explains_itself(rule: Explained) -> None:
    assert re.fullmatch(r"GEN-[A-Z]+-\d{3}", rule.code)
    assert all((rule.title, rule.wrong, rule.right))
    assert len(rule.why) > 40
    assert rule.why.endswith(".")


def test_a_folder_says_what_it_is_judged_for(a30: Cluster) -> None:
    service = manifest("Service", spec={"ports": []})
    assert any("judged for Kubernetes 1.36" in text for text in unjudged(built(service)))
    assert list(unjudged(built(service, cluster=a30))) == []


def test_kinds_are_those_of_the_clusters_own_minor(a30: Cluster) -> None:
    policy = manifest("MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1")
    del policy["metadata"]["namespace"]
    older = structs.replace(a30, kubernetes=structs.replace(a30.kubernetes, version="1.33.0"))
    found = {
        name: [one.code for one in examine(built(policy, cluster=each))] for name, each in (("o", older), ("n", None))
    }
    assert "GEN-API-002" in found["o"]
    assert "GEN-API-002" not in found["n"]
    assert RULES["GEN-API-002"].severity == "error"


def test_what_several_pods_of_one_object_say_at_one_place_is_told_once(a30: Cluster) -> None:
    step = {"container": {"image": "example.org/x:1.0.0", "name": "main"}}
    spec = {"serviceAccountName": "absent", "templates": [{**step, "name": name} for name in ("a", "b")]}
    whole = built(manifest("Workflow", "argoproj.io/v1alpha1", namespace="mlperf", spec=spec), cluster=a30)
    told = [one.message for one in examine(whole) if one.code == "GEN-REF-001"]
    assert told.count("there is no ServiceAccount mlperf/absent") == 1


def test_argo_cd_has_no_say_in_what_somebody_brings(a30: Cluster) -> None:
    service = manifest("Service", namespace="mlperf", spec={"type": "LoadBalancer"})
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}}
    for component, codes in (("", set()), ("minio", {"GEN-ARGO-004", "GEN-ARGO-005"})):
        found = examine(built(service, space, cluster=a30, component=component))
        assert {one.code for one in found if one.code.startswith("GEN-ARGO")} == codes


def test_a_definition_without_versions_says_nothing_of_them() -> None:
    names = {"kind": "Old", "plural": "olds"}
    spec = {"group": "example.org", "names": names, "version": "v1alpha1"}
    crd = manifest("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", name="olds.example.org", spec=spec)
    found = examine(built(crd, manifest("Old", "example.org/v1alpha1")))
    assert "GEN-API-003" not in {one.code for one in found}
