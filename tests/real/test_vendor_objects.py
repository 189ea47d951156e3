"""What `gen vendor` makes of the objects of charts: hooks, Secrets, CRDs, nulls, kinds that nothing serves."""

import time
from typing import Any

import pytest
import yaml
from chartshop import CONFIG_MAP, Shop, packaged
from chartworld import World, component, release
from vendoring import DEFINITION, SECRET, built

pytestmark = pytest.mark.real

HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: prepare
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-5", kept: "yes"}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: registry.example.org/a:1}]}}}
"""
TOY = "apiVersion: example.org/v1\nkind: Toy\nmetadata: {name: bear, namespace: not-ours}\n"


def test_a_failing_chart_is_told_in_helms_words_and_nothing_is_written(two: World, shop: Shop) -> None:
    shop.add("good")
    shop.add("bad", files={"templates/x.yaml": "a: 1\nb: {{ fail `no such size` }}\n"})
    shop.add("worse", files={"templates/y.yaml": "a: [\n"})
    names = ("good", "bad", "worse")
    two.installs(*(component(release(shop.url, name), name=name) for name in names), on=("one", "two"))
    said = two.gen("vendor", expect=1)
    assert "one/bad: chart bad 1.0.0: `helm template bad bad --version 1.0.0` failed: " in said
    assert "(bad/templates/x.yaml:2:6)" in said
    assert "no such size" in said
    assert "YAML parse error on worse/templates/y.yaml" in said
    assert said.count("fix: ") == 4
    assert not (two.root / "gen.lock").exists()
    assert not (two.root / "overlays").exists()


def test_a_chart_with_random_values_is_refused_and_its_objects_named(world: World, shop: Shop) -> None:
    text = CONFIG_MAP.replace(".Values.text", "(randAlphaNum 8)")
    shop.add(files={"templates/a.yaml": text, "templates/b.yaml": CONFIG_MAP.replace("}}\ndata", "}}-b\ndata")})
    world.installs(component(release(shop.url)))
    said = world.gen("vendor", expect=1)
    assert "chart toy 1.0.0: differs each time (ConfigMap toy)" in said


def test_random_values_in_a_secret_that_is_dropped_do_no_harm(world: World, shop: Shop) -> None:
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "templates/secret.yaml": SECRET})
    world.installs(component(release(shop.url, secrets={"key": "drop"})))
    world.gen("vendor")
    assert list(world.upstream()) == ["configmap-toy.yaml"]


@pytest.mark.parametrize(
    ("decision", "outcome"), [("drop", "gone"), ("placeholder", "kept"), ("refuse", "wrong"), ("", "wrong")]
)
def test_no_data_of_a_secret_is_ever_written(world: World, shop: Shop, decision: str, outcome: str) -> None:
    fixed = SECRET.replace("{{ randAlphaNum 8 | quote }}", "hunter2hunter2")
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "templates/secret.yaml": fixed})
    decisions: Any = {"secrets": {"key": decision} if decision else {}}
    world.installs(component(release(shop.url, **decisions)))
    said = world.gen("vendor", expect=int(outcome == "wrong"))
    assert "hunter2" not in said
    assert not any(b"hunter2" in content for content in world.tree().values())
    if outcome == "wrong":
        assert "chart toy 1.0.0: Secret key" in said
        assert "(toy/templates/secret.yaml)" in said
    else:
        assert ("secret-key.yaml" in world.upstream()) is (outcome == "kept")


@pytest.mark.parametrize("decision", ["drop", "plain", "keep", ""])
def test_every_hook_is_decided_on(world: World, shop: Shop, decision: str) -> None:
    tests = HOOK.replace("prepare", "try").replace("pre-install,pre-upgrade", "test")
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "templates/hook.yaml": HOOK, "templates/test.yaml": tests})
    decisions: Any = {"hooks": {"prepare": decision} if decision else {}}
    world.installs(component(release(shop.url, **decisions)))
    said = world.gen("vendor", expect=int(not decision))
    if not decision:
        assert "Job prepare is a hook (pre-install,pre-upgrade), and nothing says what becomes of it" in said
        assert "(toy/templates/hook.yaml)" in said
        assert "drop" in said
        assert "plain" in said
        assert "keep" in said
        return
    found = world.upstream()
    assert "job-try.yaml" not in found
    assert ("job-prepare.yaml" in found) is (decision != "drop")
    noted = found.get("job-prepare.yaml", {"metadata": {}})["metadata"].get("annotations")
    assert (
        noted
        == {
            "drop": None,
            "plain": {"kept": "yes", "argocd.argoproj.io/sync-wave": "-1"},
            "keep": {"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "-5", "kept": "yes"},
        }[decision]
    )


def test_the_cluster_file_decides_on_a_hook_that_gen_does_not_know(world: World, shop: Shop) -> None:
    """What the refusal says to write works, letter for letter."""
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "templates/hook.yaml": HOOK})
    world.installs(component(release(shop.url), name="toy-0"))
    world.patch.setattr("generator.checks.versions.COMPONENTS", frozenset({"toy-0"}))
    said = world.gen("vendor", expect=1)
    assert "say in the cluster file `hooks: {prepare: drop}` below the component in `components` or `extras`" in said
    file = "clusters/one/cluster.yaml"
    world.put(file, (world.root / file).read_text() + "  components:\n    toy-0:\n      hooks: {prepare: drop}\n")
    world.gen("vendor")
    assert set(world.upstream(component="toy-0")) == {"configmap-toy.yaml"}
    world.edit(file, "prepare: drop", "prepare: plain")
    assert "was stale" in world.gen("vendor")
    assert set(world.upstream(component="toy-0")) == {"configmap-toy.yaml", "job-prepare.yaml"}


def test_crds_in_both_places_go_to_the_base_and_serve_other_components(world: World, shop: Shop) -> None:
    second = DEFINITION.replace("toys", "kites").replace("Toy", "Kite").replace("toy", "kite")
    shop.add(files={"crds/one.yaml": DEFINITION, "templates/two.yaml": second})
    shop.add("user", files={"templates/toy.yaml": TOY})
    world.installs(component(release(shop.url, "user"), name="user"), component(release(shop.url)))
    world.gen("vendor")
    base = world.root / "base/toy/1.0.0/crds"
    assert sorted(path.name for path in base.iterdir()) == [
        "customresourcedefinition-kites.example.org.yaml",
        "customresourcedefinition-toys.example.org.yaml",
        "kustomization.yaml",
    ]
    assert {one["metadata"]["name"] for one in built(world)} == {"toys.example.org", "kites.example.org"}
    # Of cluster scope, so it loses the namespace it has no use for.
    assert built(world, name="user")[0]["metadata"] == {"name": "bear"}
    project = yaml.load((world.root / "clusters/one/argocd/appproject-platform.yaml").read_text(), yaml.CSafeLoader)
    assert {"group": "example.org", "kind": "Toy"} in project["spec"]["clusterResourceWhitelist"]


@pytest.mark.parametrize("apart", [False, True], ids=["in the base", "in the overlay"])
def test_crds_that_stand_vendored_serve_what_is_vendored_later(two: World, shop: Shop, apart: bool) -> None:  # noqa: FBT001
    shop.add(files={"templates/one.yaml": DEFINITION.replace("DESCRIPTION", "{{ .Values.text }}")})
    shop.add("user", files={"templates/toy.yaml": TOY.replace("bear", "{{ .Values.text }}")})
    for cluster in ("one", "two"):
        values = {"text": cluster if apart else "same"}
        user = component(release(shop.url, "user"), name="user")
        two.installs(component(release(shop.url, values=values)), user, on=(cluster,))
    two.gen("vendor")
    user = component(release(shop.url, "user", values={"text": "new"}), name="user")
    two.installs(two.spec["one"][0], user, on=("one",))
    assert "one/user: 1 object" in two.gen("vendor")
    assert two.upstream("one", "user")["toy-new.yaml"]["metadata"] == {"name": "new"}


def test_crds_that_differ_between_clusters_go_to_the_overlays_and_back(two: World, shop: Shop) -> None:
    shop.add(files={"templates/one.yaml": DEFINITION.replace("DESCRIPTION", "{{ .Values.text }}")})
    base, own = (
        "base/toy/1.0.0/crds/customresourcedefinition-toys.example.org.yaml",
        "customresourcedefinition-toys.example.org.yaml",
    )
    two.installs(component(release(shop.url)), on=("one", "two"))
    two.gen("vendor")
    assert base in two.tree()
    assert own not in two.upstream("one")
    two.installs(component(release(shop.url, values={"text": "apart"})), on=("two",))
    two.gen("vendor")
    assert base not in two.tree()
    assert own in two.upstream("one")
    assert own in two.upstream("two")
    assert [built(two, cluster)[0]["kind"] for cluster in ("one", "two")] == ["CustomResourceDefinition"] * 2
    after = two.tree()
    assert "everything vendored is" in two.gen("vendor", "--check")
    two.installs(component(release(shop.url)), on=("two",))
    two.gen("vendor")
    assert base in two.tree()
    assert own not in two.upstream("two")
    assert after != two.tree()


def test_one_cluster_alone_leaves_what_another_takes_from_the_base(two: World, shop: Shop) -> None:
    shop.add(files={"templates/one.yaml": DEFINITION.replace("DESCRIPTION", "{{ .Values.text }}")})
    two.installs(component(release(shop.url)), on=("one", "two"))
    two.gen("vendor")
    base = "base/toy/1.0.0/crds/customresourcedefinition-toys.example.org.yaml"
    before = two.tree()[base]
    two.installs(component(release(shop.url, values={"text": "apart"})), on=("two",))
    two.gen("vendor", "--cluster", "two")
    assert two.tree()[base] == before
    assert "customresourcedefinition-toys.example.org.yaml" in two.upstream("two")
    assert [len(built(two, cluster)) for cluster in ("one", "two")] == [1, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n", "policy/v1beta1, which Kube"),
        (TOY, "Toy not-ours/bear is of example.org/v1, which Kubernetes 1.35.3 with this cluster's CRDs does not"),
    ],
)
def test_what_the_cluster_does_not_serve_is_refused(world: World, shop: Shop, text: str, words: str) -> None:
    shop.add(files={"templates/a.yaml": text})
    world.installs(component(release(shop.url)))
    assert words in world.gen("vendor", expect=1)


def test_charts_see_the_versions_and_kinds_of_the_clusters_kubernetes(world: World, shop: Shop) -> None:
    ask = '{{ if .Capabilities.APIVersions.Has "%s" }}yes{{ else }}no{{ end }}'
    asked = ("batch/v1/CronJob", "apps/v1", "resource.k8s.io/v1", "monitoring.coreos.com/v1")
    data = "\n".join(f"  {name.replace('/', '-')}: '{ask % name}'" for name in asked)
    data = f"data:\n  version: {{{{ .Capabilities.KubeVersion }}}}\n{data}\n"
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{data}"
    shop.add(files={"templates/a.yaml": text})
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    assert world.upstream()["configmap-a.yaml"]["data"] == {
        "version": "v1.35.3",
        "batch-v1-CronJob": "yes",
        "apps-v1": "yes",
        "resource.k8s.io-v1": "yes",
        "monitoring.coreos.com-v1": "no",
    }


def test_nulls_go_and_empty_things_stay(world: World, shop: Shop) -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a, annotations: null, labels: {}}
  data: {empty: "", gone: ~}
- null
---
# nothing
---
apiVersion: v1
kind: Service
metadata: {name: b, creationTimestamp: null}
spec: {ports: [{port: 1, name: null}], externalIPs: [], selector: null}
"""
    shop.add(files={"templates/a.yaml": text})
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    assert world.upstream() == {
        "configmap-a.yaml": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "toy", "labels": {}},
            "data": {"empty": ""},
        },
        "service-b.yaml": {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "b", "namespace": "toy"},
            "spec": {"ports": [{"port": 1}], "externalIPs": []},
        },
    }


def test_two_thousand_objects(world: World, shop: Shop) -> None:
    loop = (
        "{{ range $i := until 2000 }}\n---\n" + CONFIG_MAP.replace("{{ .Release.Name }}", "map-{{ $i }}") + "{{ end }}"
    )
    shop.add(files={"templates/a.yaml": loop.replace(".Values", "$.Values")})
    world.installs(component(release(shop.url)))
    begun = time.perf_counter()
    world.gen("vendor")
    assert len(world.upstream()) == 2000
    assert time.perf_counter() - begun < 30


def test_helm_sees_nothing_of_this_machine(world: World, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CONFIG_MAP.replace(".Values.text", '(lookup "v1" "Node" "" "" | len)')
    shop.add(files={"templates/a.yaml": text})
    monkeypatch.setenv("KUBECONFIG", "/does/not/exist")
    monkeypatch.setenv("HELM_NAMESPACE", "elsewhere")
    monkeypatch.setenv("HELM_PLUGINS", "/does/not/exist")
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    assert world.upstream()["configmap-toy.yaml"]["metadata"]["namespace"] == "toy"
    assert world.upstream()["configmap-toy.yaml"]["data"] == {"text": "0"}


def test_an_archive_of_another_chart_is_refused(world: World, shop: Shop) -> None:
    shop.add()
    shop.files["/toy-1.0.0.tgz"] = packaged("bear")
    world.installs(component(release(shop.url)))
    assert "what came calls itself bear 1.0.0" in world.gen("vendor", expect=1)


def test_a_range_of_versions_is_refused_with_the_version_that_helm_took(world: World, shop: Shop) -> None:
    shop.add(version="1.2.3")
    world.installs(component(release(shop.url, version="1.2")))
    said = world.gen("vendor", expect=1)
    assert "what came calls itself toy 1.2.3\n   fix: write `version: 1.2.3`; Helm takes 1.2 for a range" in said
