"""What differs from Git, on a fake of an API server: what it makes of an object is what is applied, merged."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster, forbidden, living
from reference import load

from generator.build.objects import Built, Object
from generator.errors import UsageError
from generator.layout.argocd import application
from generator.live import api
from generator.live.drift.drift import drift
from generator.live.drift.managers import Added, Writer
from generator.live.drift.opening import opens
from generator.live.drift.report import Drift, DriftReport
from generator.live.drift.text import lines
from generator.live.identity import record
from generator.live.running import RunningCluster
from generator.model.change import ObjectChange

Manifest = dict[str, Any]
CLUSTER = load("a30-bench")
HEAD = "b" * 40
WANTED: Manifest = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "x", "namespace": "shop"},
    "data": {"a": "1"},
}
OWNED = {
    "manager": "argocd-controller",
    "operation": "Apply",
    "time": "2026-01-01T00:00:00Z",
    "fieldsV1": {"f:data": {"f:a": {}}},
}


def stands(manifest: Manifest = WANTED, *entries: Manifest, component: str = "kueue") -> Manifest:
    """Return an object as Argo CD made it, and others changed it."""
    one = deepcopy(manifest)
    group, _, _ = one["apiVersion"].rpartition("/")
    place = f"{one['metadata'].get('namespace', 'argocd')}/{one['metadata']['name']}"
    one["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": f"{component}:{group}/{one['kind']}:{place}"}
    one["metadata"]["managedFields"] = [OWNED, *entries]
    return one


def by_hand(fields: Manifest, manager: str = "kubectl-edit") -> Manifest:
    return {"manager": manager, "operation": "Update", "time": "2026-02-02T00:00:00Z", "fieldsV1": fields}


@pytest.fixture
def there(tmp_path: Path) -> Iterator[tuple[LiveCluster, RunningCluster]]:
    app = application(CLUSTER, "kueue", "platform", 1, "shop", ["overlays/a30-bench/kueue"])
    app["status"] = {"sync": {"status": "Synced", "revision": HEAD}}
    with living(tmp_path, app, record(CLUSTER), stands()) as both:
        yield both


def look(running: RunningCluster, *wanted: Manifest, **built: Any) -> DriftReport:
    objects = tuple(Object(one, "kueue", "x.yaml") for one in wanted or (WANTED,))
    found = Built(name="a30-bench", cluster=None, objects=objects, **built)

    def build(revision: str) -> Built:
        assert revision == HEAD
        return found

    return drift(running, CLUSTER, build)


def only(found: DriftReport) -> Drift:
    (one,) = found.drifts
    return one


def test_what_is_as_in_git_says_nothing_and_nothing_is_written(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    found = look(running)
    assert found.drifts == ()
    assert (found.revisions, found.objects, found.namespaces, found.notes) == ((HEAD,), 1, ("shop",), ())
    assert cluster.writes == []
    assert all("dryRun=All" in one.path for one in cluster.asked if one.method != "GET")


def test_an_edit_by_hand_names_who_did_it(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.add(stands({**WANTED, "data": {"a": "2"}}, by_hand({"f:data": {"f:a": {}}})))
    found = look(running)
    one = only(found)
    assert (one.how, one.name, one.why) == (
        "differs",
        "ConfigMap shop/x",
        "differs from Git; Argo CD puts it back by itself",
    )
    (field,) = one.fields
    assert (field.field, field.git, field.cluster, field.by) == (
        "data.a",
        "1",
        "2",
        "kubectl edit, 2026-02-02T00:00:00Z",
    )
    assert "    data.a: 1 in Git, 2 in the cluster (kubectl edit, 2026-02-02T00:00:00Z)" in [*lines(found)]
    assert one.command == "gen sync kueue --cluster a30-bench"


def test_what_git_does_not_name_is_found_where_a_person_wrote_it(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.add(stands({**WANTED, "data": {"a": "1", "b": "mine", "c": "theirs"}}, *_added()))
    found = look(running)
    one = only(found)
    assert (one.how, [(each.field, each.cluster) for each in one.fields]) == ("added", [("data.b", "mine")])
    assert "overlays/a30-bench/kueue/custom/" in one.command
    assert dict(found.programs) == {("kueue", "operator"): 1}


def _added() -> list[Manifest]:
    return [by_hand({"f:data": {"f:b": {}}}), by_hand({"f:data": {"f:c": {}}}, "operator")]


RIGHTS = {**WANTED, "metadata": {"name": "argocd-rbac-cm", "namespace": "argocd"}}
NETWORK: Manifest = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "closed", "namespace": "shop"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
}


def test_what_opens_rights_is_told_whatever_program_wrote_it(there: tuple[LiveCluster, RunningCluster]) -> None:
    """`kubectl --field-manager=ops`, Terraform and whatever is on no list sign with names of their own."""
    cluster, running = there
    fields: Manifest = {"f:data": {"f:policy.extra.csv": {}, "f:timeout": {}}}
    live = {**RIGHTS, "data": {"a": "1", "policy.extra.csv": "g, x, role:admin", "timeout": "1s"}}
    cluster.add(stands(live, by_hand(fields, "ops"), component="kueue"))
    found = look(running, WANTED, RIGHTS)
    one = only(found)
    assert (one.how, [(each.field, each.cluster, each.by) for each in one.fields]) == (
        "added",
        [("data[policy.extra.csv]", "g, x, role:admin", "the program ops, 2026-02-02T00:00:00Z")],
    )
    assert dict(found.programs) == {("kueue", "ops"): 1}


def test_what_opens_the_network_is_told_whatever_program_wrote_it(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    live = {**NETWORK, "spec": {**NETWORK["spec"], "ingress": [{}]}}
    cluster.add(stands(live, by_hand({"f:spec": {"f:ingress": {}}}, "ops")))
    assert [each.field for each in only(look(running, WANTED, NETWORK)).fields] == ["spec.ingress"]


def test_what_programs_write_as_their_task_opens_nothing(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    system: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}
    labels = {"kubernetes.io/metadata.name": "kube-system"}
    named = {**system, "metadata": {**system["metadata"], "labels": labels}}
    own: Manifest = {"f:metadata": {"f:labels": {"f:kubernetes.io/metadata.name": {}}}}
    cluster.add(stands(named, by_hand(own, "kube-apiserver")))
    found = look(running, WANTED, system)
    assert found.drifts == ()
    assert dict(found.programs) == {("kueue", "kube-apiserver"): 1}


def test_a_certificate_that_a_webhook_gets_from_its_program_opens_nothing() -> None:
    """A list item of the fake server cannot be added to, so the rule itself is asked."""
    hook: Manifest = {"name": "x", "clientConfig": {"caBundle": "Zg==", "service": {"name": "x", "namespace": "shop"}}}
    live: Manifest = {"metadata": {"name": "checks"}, "webhooks": [hook]}
    kind = "admissionregistration.k8s.io/ValidatingWebhookConfiguration"
    change = ObjectChange(on="changed", kind=kind, namespace="", name="checks", application="x", old=live, new=live)
    writer = Writer(manager="kueue", time="")
    for last, told in (("f:caBundle", False), ("f:service", True)):
        leaf = ("f:webhooks", 'k:{"name":"x"}', "f:clientConfig", last)
        assert opens(change, Added(steps=leaf, leaf=leaf, value="", writer=writer)) is told


def test_a_default_that_a_person_wrote_is_no_drift(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.add(stands({**WANTED, "data": {"a": "1", "b": "mine"}}, by_hand({"f:data": {"f:b": {}}})))
    cluster.admits.append(lambda one: one["data"].setdefault("b", "theirs"))
    assert only(look(running)).how == "added"
    cluster.admits.append(lambda one: one["data"].update(b="mine"))
    assert look(running).drifts == ()
    assert cluster.writes == []


def test_what_an_application_ignores_is_no_drift(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.add(stands({**WANTED, "data": {"a": "2", "b": "mine"}}, *_added()))
    spec = cluster.get("Application", "kueue")["spec"]
    spec["ignoreDifferences"] = [{"kind": "ConfigMap", "jsonPointers": ["/data"]}]
    assert look(running).drifts == ()
    spec["ignoreDifferences"][0]["jqPathExpressions"] = ["[.data] | first"]
    assert any("[.data] | first" in note for note in look(running).notes)


def test_the_values_of_a_secret_are_never_shown(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "shop"},
        "data": {"a": "Z2l0"},
    }
    live = {**secret, "data": {"a": "bGl2ZQ==", "b": "bW9yZQ=="}}
    cluster.add(stands(live, by_hand({"f:data": {"f:a": {}, "f:b": {}}})))
    text = "\n".join(lines(look(running, secret)))
    assert "hidden" in text
    assert not any(value in text for value in ("Z2l0", "bGl2ZQ==", "bW9yZQ=="))


def test_what_is_missing_and_what_nobody_defines(there: tuple[LiveCluster, RunningCluster]) -> None:
    _, running = there
    other = {**WANTED, "metadata": {"name": "y", "namespace": "shop"}}
    unserved = {"apiVersion": "example.org/v1", "kind": "Unserved", "metadata": {"name": "z"}}
    found = look(running, WANTED, other, unserved)
    assert [(one.how, one.name, one.why) for one in found.drifts] == [
        ("missing", "ConfigMap shop/y", "is missing"),
        ("missing", "Unserved z", "is missing: nothing in the cluster defines example.org/v1"),
    ]


def test_what_is_left_over(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    old = {**WANTED, "metadata": {"name": "old", "namespace": "shop"}}
    cluster.add(stands(old))
    assert (only(look(running)).how, only(look(running)).name) == ("leftover", "ConfigMap shop/old")
    kept = stands(old)
    kept["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] = "Delete=false, Prune=false"
    cluster.add(kept)
    assert "Argo CD keeps it because it holds data" in only(look(running)).why
    cluster.add({**kept, "metadata": {**kept["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}})
    assert only(look(running)).why == "is no longer in Git, and is being deleted"


def test_what_was_copied_from_something_tracked_is_not_left_over(there: tuple[LiveCluster, RunningCluster]) -> None:
    """Operators copy annotations to what they make."""
    cluster, running = there
    copied = stands({**WANTED, "metadata": {"name": "made", "namespace": "shop"}})
    copied["metadata"]["annotations"] = stands()["metadata"]["annotations"]
    cluster.add(copied)
    assert look(running).drifts == ()


def test_what_charts_bring_is_not_judged_where_nobody_sees_it(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.add(stands({**WANTED, "metadata": {"name": "of-the-chart", "namespace": "shop"}}))
    found = look(running, unseen=("kueue",))
    assert found.drifts == ()
    assert found.notes == ("not compared, because it is not vendored (gen vendor): what charts bring of kueue",)


def test_what_comes_from_elsewhere_is_not_judged(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    mine = application(CLUSTER, "mine", "platform", 1, "shop", ["elsewhere"])
    other = application(CLUSTER, "other", "platform", 1, "shop", ["overlays/a30-bench/other"])
    other["spec"]["source"]["repoURL"] = "https://git.example.org/other.git"
    for one in (mine, other):
        name = one["metadata"]["name"]
        cluster.add({**one, "status": {"sync": {"revision": "c" * 40}}})
        cluster.add(stands({**WANTED, "metadata": {"name": name, "namespace": "shop"}}, component=name))
    found = look(running)
    assert found.drifts == ()
    assert found.notes == ("not compared, because it is not in the folders of this cluster: what mine, other holds",)


def test_hooks_are_gone_when_they_are_done(there: tuple[LiveCluster, RunningCluster]) -> None:
    _, running = there
    hook = {"name": "h", "namespace": "shop", "annotations": {"argocd.argoproj.io/hook": "PreSync"}}
    assert look(running, WANTED, {**WANTED, "metadata": hook}).drifts == ()


def test_a_hook_that_stays_until_its_next_run_is_no_leftover(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    hook = {**WANTED, "metadata": {"name": "h", "namespace": "shop"}}
    cluster.add(stands(hook))
    annotations = {"argocd.argoproj.io/hook": "PostSync"}
    assert look(running, WANTED, {**hook, "metadata": {**hook["metadata"], "annotations": annotations}}).drifts == ()
    assert only(look(running)).how == "leftover"


def test_who_may_not_try_is_told_and_what_is_missing_is_found(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.refuses["PATCH .*"] = forbidden("patch", "configmaps")
    other = {**WANTED, "metadata": {"name": "y", "namespace": "shop"}}
    found = look(running, WANTED, other)
    assert [one.how for one in found.drifts] == ["missing"]
    assert any("you may not try to change ConfigMap" in note for note in found.unread)


def test_what_may_not_be_tried_or_read_is_unknown_and_never_missing(
    there: tuple[LiveCluster, RunningCluster],
) -> None:
    cluster, running = there
    assert look(running).state == "as in Git"
    cluster.refuses["PATCH .*"] = forbidden("patch", "configmaps")
    assert look(running).state == "unknown"
    cluster.refuses = {"GET .*/configmaps": forbidden("list", "configmaps")}
    found = look(running)
    assert (found.state, found.drifts) == ("unknown", ())
    assert any("configmaps is forbidden" in note for note in found.unread)
    assert next(lines(found)).endswith("none that could be compared differs")
    assert list(lines(found))[-1].startswith("whether something differs is unknown")
    assert found.data()["state"] == "unknown"


def test_an_api_whose_own_server_is_away_hides_only_itself(
    there: tuple[LiveCluster, RunningCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "STEP", 0.001)
    cluster, running = there
    cluster.served["example.org/v1"] = {"Thing": True}
    thing = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "x", "namespace": "shop"}}
    assert [one.how for one in look(running, WANTED, thing).drifts] == ["missing"]
    for pattern in ("GET /apis/example.org/v1", "GET .*/things"):
        cluster.refuses = {pattern: (503, "ServiceUnavailable", "service unavailable")}
        found = look(running, WANTED, thing)
        assert (found.state, found.drifts) == ("unknown", ())
        (note,) = found.unread
        assert "does not answer" in note


def test_what_git_says_and_the_server_refuses(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.refuses["PATCH .*"] = (422, "Invalid", "spec.selector: field is immutable")
    one = only(look(running))
    assert (one.how, one.why) == ("refused", "cannot be as in Git: spec.selector: field is immutable")


def test_namespaces_that_nobody_names(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.add_namespace("mine")
    cluster.add_namespace(CLUSTER.teams[0].name)
    wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    cluster.add(stands(wanted))
    assert look(running, WANTED, wanted).namespaces == ("mine",)


def test_another_cluster_is_refused(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.get("ConfigMap", "gen")["data"]["cluster"] = "other"
    with pytest.raises(UsageError, match="is the cluster other, not a30-bench"):
        look(running)


def test_as_data(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.add(stands({**WANTED, "data": {"a": "2"}}, by_hand({"f:data": {"f:a": {}}})))
    (found,) = look(running).data()["drifts"]
    assert found["how"] == "differs"
    assert found["fields"] == [
        {"field": "data.a", "git": "1", "cluster": "2", "by": "kubectl edit, 2026-02-02T00:00:00Z"}
    ]


def test_a_cluster_without_applications_is_not_called_equal(there: tuple[LiveCluster, RunningCluster]) -> None:
    cluster, running = there
    cluster.served.pop("argoproj.io/v1alpha1")
    with pytest.raises(UsageError, match="nothing to compare with; `gen status --cluster a30-bench` tells more"):
        look(running)
