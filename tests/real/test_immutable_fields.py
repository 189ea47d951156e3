"""What the API server refuses of an update, field by field: the rules on changes say the same.

Every object of the reference clusters, and one of each built-in kind that they do not have, is stored and then applied
with one field changed, as a dry run. What is refused there, and taken as a new object of another name, is immutable.
"""

import copy
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import pytest
import yaml
from msgspec import structs
from mutating import SERVERS, Mutation, Schemas, added_by_the_server, mutations
from reference import ROOT, load
from test_check_server import crds

from generator.build.applications import build
from generator.build.difference import differences, same
from generator.build.kinds import Kinds
from generator.build.objects import Built, Object
from generator.components.component import Manifest
from generator.live.api import Answer, ApiConnection, Request, of_started
from generator.live.apiserver import throw_away
from generator.live.discovery import Served, discover, place
from generator.live.dry_run.definitions import install, wanted
from generator.model.change import ChangeRule, Effect
from generator.model.fields import dig
from generator.review.judging import JudgedChange, judge
from generator.review.report import rules
from generator.review.transitions import transition_rules

pytestmark = pytest.mark.real
pytest_plugins = ["apiserver", "usercluster"]

CLUSTERS = ("ml50", "a30-bench", "gpu-serving")
INVALID = re.compile(r'"null"|Invalid value: null|: spec: Required value')
"""What a server says of an object that is wrong in itself: it has then not looked at what may change."""
MADE_UP = ROOT / "tests/real/kinds.yaml"
ENOUGH = {"other": 2}
"""How often one field of one kind is changed to another value; to be taken away or added it is once."""

# In this order, as each judges or counts what is written: what stands in one is deleted before the next. What
# refuses by a limit may see it before what sets its defaults does, and refuse a pod that is made meanwhile.
LATE = ("LimitRange", "ResourceQuota", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")

# What servers choose themselves is the same when it is written down, and nobody else can know it.
CHOSEN = {
    "Job": ("controller-uid", "job-name", "selector"),
    "Pod": ("resources", "priority", "preemptionPolicy"),
    "Service": ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"),
}
# What the server drops: fields of features that are off, and a source of a claim of an unknown kind.
OFF = {"workloadRef", "clusterTrustBundle", "podCertificate", "schedulingGroup", "dataSource", "dataSourceRef"}

# What no change of a single field by its type comes to, by kind and name: values at ways.
BY_HAND: dict[str, tuple[dict[str, Any], ...]] = {
    "Deployment paused": ({"spec.selector.matchLabels": {"more": "a"}},),
    "DaemonSet each": ({"spec.selector.matchLabels": {"more": "a"}},),
    "ReplicaSet few": ({"spec.selector.matchLabels": {"app": "x"}, "spec.template.metadata.labels": {"app": "x"}},),
    "Job indexed": (
        {"spec.completions": 4, "spec.parallelism": 4},
        {"spec.completions": 4},
        {"spec.completions": 4, "spec.parallelism": 4, "spec.backoffLimitPerIndex": 3},
    ),
    "CustomResourceDefinition widgets.kinds.example.org": ({"spec.scope": "Cluster"}, {"spec.names.plural": "gadgets"}),
    "PersistentVolumeClaim bound": (
        {"spec.resources.requests.storage": "500Mi"},
        {"spec.resources.requests.storage": "1024Mi"},
        {"spec.resources.requests.storage": "2Gi"},
        {"spec.resources.requests.storage": "2Gi", "spec.volumeMode": "Block"},
    ),
    "StatefulSet members": (
        {"spec.volumeClaimTemplates.0.spec.resources.requests.storage": "1Gi"},
        {"spec.volumeClaimTemplates.0.spec.resources.requests.storage": "2Gi"},
        {"spec.replicas": 5, "spec.podManagementPolicy": "Parallel"},
    ),
    "Service balanced": (
        {"spec.type": "ClusterIP", "spec.loadBalancerClass": None, "spec.externalTrafficPolicy": None}
        | dict.fromkeys(("spec.loadBalancerSourceRanges", "spec.allocateLoadBalancerNodePorts")),
        {"spec.clusterIP": "None"},
    ),
    "Service fixed": ({"spec.clusterIP": "10.96.8.8"}, {"spec.clusterIP": "10.96.7.7", "spec.sessionAffinity": "None"}),
    "ServiceCIDR more": ({"spec.cidrs": ["10.99.0.0/24", "fd99::/112"]}, {"spec.cidrs": ["10.98.0.0/24"]}),
}


class Tried(NamedTuple):
    """An object with a mutation, what stood before, the answer, and whether the same was taken as a new object."""

    one: Object
    mutation: Mutation
    mutated: Manifest
    stored: Manifest
    answer: Answer
    anew: bool = False

    @property
    def refused(self) -> bool:
        """Whether it is refused as a change only."""
        return not self.answer.good and self.anew

    @property
    def unchanged(self) -> bool:
        """Whether the server sees no change."""
        return self.answer.good and same(_content(self.answer.body), _content(self.stored))

    def said(self, every: tuple[ChangeRule, ...]) -> JudgedChange | None:
        """Return what the rules say of it; None where nothing differs at all."""
        new = structs.replace(self.one, manifest=self.mutated)
        return next(iter(judge(differences([self.one], [new]), every)), None)

    def __str__(self) -> str:
        path = ".".join(map(str, self.mutation.path))
        return f"{self.one.full_name} {self.mutation.how} {path}: {self.answer.message[:200]}"


def _content(manifest: Manifest) -> Manifest:
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in SERVERS}
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}


class Trial:
    """A server, and what is tried on it."""

    def __init__(self, api: ApiConnection, objects: list[Object]) -> None:
        self.api = api
        self.objects = objects
        self.served: Served = discover(api, {one.version for one in objects})
        self.schemas = {version: self._schemas(version) for version in {one.version for one in objects}}
        self.seen: Counter[tuple[str, ...]] = Counter()

    def _schemas(self, version: str) -> Schemas:
        path = f"/openapi/v3/{'apis' if '/' in version else 'api'}/{version}"
        return Schemas(self.api.ask(Request(path=path)).body)

    def all(self) -> Iterator[Tried]:
        """Try every field of every object."""
        for late in ("", *LATE):
            mine = [one for one in self.objects if (one.kind if one.kind in LATE else "") == late]
            yield from self._several(mine)
            if late:
                paths = [f"{place(self.served, one)}/{one.name}" for one in mine]
                list(self.api.ask_all([Request(path=path, method="DELETE") for path in paths]))

    def _several(self, objects: list[Object]) -> Iterator[Tried]:
        stored = list(self.api.ask_all([self._apply(one, one.manifest, dry=False) for one in objects]))
        assert [answer.message for answer in stored if not answer.good] == []
        list(self.api.ask_all([self._bind(one) for one in objects if one.kind == "PersistentVolumeClaim"]))
        made = [each for one, answer in zip(objects, stored, strict=True) for each in self._mutated(one, answer)]
        answers = self.api.ask_all([self._apply(each.one, each.mutated) for each in made])
        tried = [each._replace(answer=answer) for each, answer in zip(made, answers, strict=True)]
        yield from (each for each in tried if each.answer.good)
        refused = [each for each in tried if not each.answer.good]
        again = self.api.ask_all([self._apply(each.one, each.mutated, name=f"x{each.one.name}") for each in refused])
        yield from (each._replace(anew=answer.good) for each, answer in zip(refused, again, strict=True))

    def _mutated(self, one: Object, stored: Answer) -> Iterator[Tried]:
        known = self.schemas[one.version]
        for each in (*mutations(one.manifest, known), *added_by_the_server(one.manifest, stored.body)):
            key = (one.version, one.kind, *each.place)
            self.seen[key] += 1
            if self.seen[key] <= ENOUGH.get(each.how, 1) and not _beyond_knowledge(one, each):
                yield Tried(one, each, each.of(one.manifest), stored.body, stored)
        for values in BY_HAND.get(f"{one.kind} {one.name}", ()):
            mutation = Mutation("by hand", tuple(values), None)
            yield Tried(one, mutation, several(one.manifest, values), stored.body, stored)

    def _bind(self, one: Object) -> Request:
        """Take for bound a claim: nothing binds it here, and one that waits may not even grow."""
        status = {"phase": "Bound", "capacity": dict(one.spec["resources"]["requests"])}
        body = {"apiVersion": "v1", "kind": one.kind, "metadata": {"name": one.name}, "status": status}
        path = f"{place(self.served, one)}/{one.name}/status?fieldManager=binder&force=true"
        return Request(path=path, method="PATCH", body=body)

    def _apply(self, one: Object, body: Manifest, *, dry: bool = True, name: str = "") -> Request:
        body = _renamed(body, name) if name else body
        query = "fieldManager=gen&force=true" + ("&dryRun=All" if dry else "")
        return Request(path=f"{place(self.served, one)}/{name or one.name}?{query}", method="PATCH", body=body)


def _beyond_knowledge(one: Object, mutation: Mutation) -> bool:
    """Tell whether nobody but the server can know what it does: it chose the value, or drops the field."""
    told = f"{mutation.path} {mutation.value}"
    chosen = mutation.how == "default" and any(word in told for word in CHOSEN.get(one.kind, ()))
    return chosen or bool(OFF & set(map(str, mutation.path)))


def several(manifest: Manifest, values: dict[str, Any]) -> Manifest:
    """Return a copy with values at several ways; without those that are None."""
    made = copy.deepcopy(manifest)
    for way, value in values.items():
        *above, last = (int(step) if step.isdigit() else step for step in way.split("."))
        part = dig(made, *above)
        if value is None:
            part.pop(last, None)
        else:
            part[last] = value
    return made


def _renamed(manifest: Manifest, name: str) -> Manifest:
    made = {**manifest, "metadata": {**manifest["metadata"], "name": name}}
    if manifest["kind"] == "CustomResourceDefinition":  # its name says what it defines
        names = {"plural": "widgets", **manifest["spec"].get("names", {})}
        made["spec"] = {**manifest["spec"], "names": {**names, "plural": f"x{names['plural']}"}}
    return made


def reference_objects() -> Iterator[Object]:
    """Yield every object of the reference clusters, without what Argo CD does with it."""
    for name in CLUSTERS:
        for one in build(ROOT, load(name)).objects:
            manifest = copy.deepcopy(one.manifest)
            notes = manifest["metadata"].get("annotations", {})
            for key in [key for key in notes if "argocd.argoproj.io" in key]:
                del notes[key]
            yield structs.replace(one, manifest=manifest)


Judged: TypeAlias = list[tuple[Tried, JudgedChange | None]]


@pytest.fixture(scope="module")
def judged() -> Judged:
    """Everything that was tried, with what the rules say of it: what is refused as a change, or taken.

    Server-side apply cannot empty some maps of custom kinds: it then writes null, or leaves them out with all that held
    nothing else; neither fits the schema, and that is no matter of what may change.
    """
    from apiserver import SHARED, programs

    programs("etcd", "kube-apiserver")
    if not SHARED.exists():
        pytest.skip("../shared is absent")
    made_up = [Object(one, "", "kinds.yaml") for one in yaml.load_all(MADE_UP.read_bytes(), yaml.CSafeLoader)]
    objects = list({one.identity: one for one in (*reference_objects(), *made_up)}.values())
    known = {crd["metadata"]["name"]: crd for name in CLUSTERS for crd in crds(load(name))}
    definitions = wanted(Built(name="", cluster=None, objects=tuple(objects), definitions=tuple(known.values())))
    spaces = sorted({one.namespace for one in objects} - {""})
    with throw_away() as running:
        api = of_started(running)
        assert list(install(api, definitions)) == []
        for name in spaces:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            api.ask(Request(path=f"/api/v1/namespaces/{name}?fieldManager=gen", method="PATCH", body=space))
        tried = list(Trial(api, objects).all())
    every = (*rules(), *transition_rules(one.manifest for one in definitions))
    valid = [one for one in tried if one.answer.good or (one.refused and not INVALID.search(one.answer.message))]
    return [(one, one.said(every)) for one in valid]


def impossible(found: JudgedChange | None) -> list[ChangeRule]:
    """Return the rules that say that a change is refused, now."""
    said = [each.rule for each in (found.meanings if found else ()) if each.rule]
    return [rule for rule in said if rule.effect is Effect.IMPOSSIBLE and not rule.armed]


def test_impossible_is_what_the_server_refuses(judged: Judged) -> None:
    assert len(judged) > 4000
    assert sum(one.refused for one, _ in judged) > 300
    assert [str(one) for one, said in judged if one.refused and not impossible(said)] == []
    # What a component says may also be what its upstream forbids, or its operator does not do.
    own = [(one, rule) for one, said in judged for rule in impossible(said) if not rule.by]
    assert [f"{rule.code}: {one}" for one, rule in own if not one.refused] == []


def test_a_default_is_what_the_server_fills_in(judged: Judged) -> None:
    """Where the rules say that nothing changes for the server, nothing does."""
    codes = [(one, [each.rule and each.rule.code for each in said.meanings]) for one, said in judged if said]
    silent = [one for one, found in codes if found == ["GEN-CHG-004"]]
    assert len(silent) > 150
    assert [str(one) for one in silent if not one.unchanged] == []


def test_each_field_of_kubernetes_own_kinds_has_a_rule(judged: Judged) -> None:
    own = Kinds.at(35)
    unsaid = {
        f"{one.one.kind} {'.'.join(one.mutation.place[1:])}"
        for one, said in judged
        if said and own.versions(one.one.group, one.one.kind)
        if any(each.rule is None for each in said.meanings)
    }
    assert sorted(unsaid) == []
