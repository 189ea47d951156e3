"""`gen vendor` as a user calls it, with the pinned Helm and charts made here."""

import json
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from chartshop import CONFIG_MAP, Shop
from chartworld import World, component, release
from vendoring import DEFINITION, SECRET, built

from generator.cli.check import NOTHING, RENDER
from generator.components.component import Component, Patch, Tier
from generator.components.definition import Definition, Version, Versions
from generator.model.cluster import Cluster
from generator.upstream.charts import digest
from generator.upstream.gather import gather
from generator.upstream.helm import helm

pytestmark = pytest.mark.real

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: image-VERSION}
spec: {containers: [{name: a, image: "x.example.org/a:VERSION"}]}
"""


def test_the_first_run_locks_and_the_second_needs_no_network(world: World, shop: Shop) -> None:
    made = shop.add()
    world.installs(component(release(shop.url)))
    assert "one/toy: 1 object, 1 pulled" in world.gen("vendor")
    assert world.lock()["charts"] == {f"{shop.url}/toy:1.0.0": made}
    assert world.upstream() == {"configmap-toy.yaml": built(world)[0]}
    assert built(world)[0]["metadata"] == {"name": "toy", "namespace": "toy"}
    before, asked = world.tree(), list(shop.asked)
    assert "nothing to change; 0 inflated, 1 left as they are" in world.gen("vendor", "--offline")
    assert "everything vendored is what the locked charts become" in world.gen("vendor", "--check")
    world.gen("vendor", "toy")
    assert (world.tree(), shop.asked) == (before, asked)


def test_rendering_keeps_what_is_vendored_and_says_when_it_is_stale(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url)))
    assert "one: not vendored" in world.gen("render")
    world.gen("vendor")
    assert "nothing to change" in world.gen("render", "--check")
    world.installs(component(release(shop.url, values={"text": "new"})))
    before = world.upstream()
    assert "stale, kept as they were: one/toy" in world.gen("render", "--check", expect=1)
    assert world.upstream() == before
    said = world.gen("vendor")
    assert "was stale" in said
    assert "~ ConfigMap toy/toy: data.text" in said
    assert world.upstream()["configmap-toy.yaml"]["data"] == {"text": "new"}
    assert "nothing to change" in world.gen("render", "--check")


def test_a_merge_that_takes_the_lock_of_one_side_and_the_objects_of_the_other_is_stale(
    world: World, shop: Shop
) -> None:
    old = shop.add()
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    world.commit()
    lock = (world.root / "gen.lock").read_text()
    shop.add(values="text: other\n")
    world.gen("vendor", "--update", "toy")
    assert old not in (world.root / "gen.lock").read_text()
    (world.root / "gen.lock").write_text(lock)
    world.commit()
    assert "stale, kept as they were: one/toy" in world.gen("render", "--check", expect=1)
    assert "GEN-VEND-001" in world.gen("check", "--rendered", expect=1)
    assert "~ ConfigMap toy/toy: data.text" in world.gen("vendor")
    assert "nothing to change" in world.gen("render", "--check")


def test_a_digest_that_changed_is_refused_until_it_is_accepted_by_name(world: World, shop: Shop) -> None:
    old = shop.add()
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    new = shop.add(values="text: other\n")
    before = world.tree()
    assert "nothing to change" in world.gen("vendor")
    for file in (world.cache / "gen" / "charts").iterdir():
        file.unlink()
    said = world.gen("vendor", "toy", expect=1)
    assert f"gen.lock says {old}, but what came is {new}" in said
    assert "gen vendor --update toy" in said
    assert world.tree() == before
    world.gen("vendor", "--update", expect=0)
    assert world.tree() == before
    said = world.gen("vendor", "--update", "toy")
    assert "~ ConfigMap toy/toy: data.text" in said
    assert f"note: {shop.url}/toy:1.0.0: another digest is accepted: {old} -> {new}\n" in said
    assert world.lock()["charts"] == {f"{shop.url}/toy:1.0.0": new}
    assert "digest" not in world.gen("vendor", "--update", "toy")


def test_offline_names_what_is_missing(world: World, shop: Shop) -> None:
    locked = shop.add()
    world.installs(component(release(shop.url)))
    said = world.gen("vendor", "--offline", expect=1)
    assert "gen.lock does not name its digest yet, and --offline forbids to fetch it" in said
    assert not (world.root / "overlays").exists()
    world.gen("vendor")
    cached = next((world.cache / "gen" / "charts").iterdir())
    cached.write_bytes(b"damaged")
    asked = list(shop.asked)
    assert f"{locked} is not in the cache" in world.gen("vendor", "toy", "--offline", expect=1)
    assert shop.asked == asked
    world.gen("vendor", "toy")
    assert digest(cached.read_bytes()) == locked


def test_two_processes_at_once_end_well_with_the_same_files(two: World, shop: Shop) -> None:
    for name in ("toy", "kite"):
        shop.add(name)
    two.installs(*(component(release(shop.url, name), name=name) for name in ("toy", "kite")), on=("one", "two"))
    both = [two.start("vendor") for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    after = two.tree()
    assert json.loads(two.gen("vendor", "--dry-run", "--output", "json"))["changes"] == [], said
    assert "nothing to change" in two.gen("vendor")
    assert "everything vendored is" in two.gen("vendor", "--check")
    assert two.tree() == after


def test_a_run_that_was_overtaken_begins_again(two: World, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("toy", "kite"):
        shop.add(name)
    two.installs(*(component(release(shop.url, name), name=name) for name in ("toy", "kite")), on=("one", "two"))
    overtaking = iter([partial(two.start, "vendor", "toy"), partial(two.start, "vendor", "kite")])

    def overtaken(*given: Any) -> Any:
        found = gather(*given)
        for start in islice(overtaking, 1):
            start().communicate(timeout=60)
        return found

    monkeypatch.setattr("generator.upstream.vendor.gather", overtaken)
    assert "4 left as they are" in two.gen("vendor")
    assert next(overtaking, None) is None
    after = two.tree()
    assert "nothing to change" in two.gen("vendor")
    assert two.tree() == after


@pytest.mark.parametrize("after", [0.15, 0.35, 0.5, 0.6, 0.7, 0.8])
def test_a_killed_run_is_healed_by_the_next(world: World, shop: Shop, after: float) -> None:
    for name in ("toy", "kite"):
        shop.add(name)
    world.installs(*(component(release(shop.url, name), name=name) for name in ("toy", "kite")))
    process = world.start("vendor")
    time.sleep(after)
    process.kill()
    process.communicate()
    world.gen("vendor")
    assert "everything vendored is" in world.gen("vendor", "--check")
    assert "nothing to change" in world.gen("render", "--check")


def test_a_tampered_file_is_found_and_a_hand_edit_is_not_overwritten(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    path = "overlays/one/toy/upstream/configmap-toy.yaml"
    world.edit(path, "plain", "by hand")
    world.commit()
    said = world.gen("vendor", "--check", expect=1)
    assert f"{path}: is not what the locked charts become with these inputs" in said
    assert "1 file would be written otherwise" in said
    assert said.endswith("next: gen vendor toy\n")
    world.installs(component(release(shop.url, values={"text": "new"})))
    before = world.tree()
    said = world.gen("vendor", expect=1)
    assert f"{path}:8: was changed by hand, and gen would overwrite it: by hand `text: by hand`, from upstream" in said
    assert "overlays/one/toy/custom/" in said
    assert world.tree() == before
    world.gen("vendor", "--discard", path)
    assert world.upstream()["configmap-toy.yaml"]["data"] == {"text": "new"}


def test_rendering_another_version_keeps_the_crds_of_what_stands(world: World, shop: Shop) -> None:
    shop.add(files={"crds/one.yaml": DEFINITION})
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    world.installs(component(release(shop.url, version="2.0.0"), version="2.0.0"))
    assert "stale, kept as they were: one/toy" in world.gen("render")
    assert [one["kind"] for one in built(world)] == ["CustomResourceDefinition"]


def test_a_check_downloads_nothing_that_is_not_locked(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url)))
    said = world.gen("vendor", "--check", expect=1)
    assert f"one/toy: {shop.url}/toy:1.0.0 is not in gen.lock yet" in said
    assert not shop.asked


def test_a_clone_without_a_record_may_be_vendored_anew(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    world.commit()
    (world.root / ".git/gen/written.json").unlink()
    world.installs(component(release(shop.url, values={"text": "new"})))
    assert "note: " not in world.gen("vendor", "--dry-run")
    world.edit("overlays/one/toy/upstream/configmap-toy.yaml", "plain", "by hand")
    world.edit("gen.lock", "gen:", 'gen: "0.0.0" #')
    world.commit()
    said = world.gen("vendor")
    assert "one/toy: whether its vendored files were changed by hand cannot be told any more" in said
    assert world.upstream()["configmap-toy.yaml"]["data"] == {"text": "new"}


def test_a_component_that_is_gone_takes_its_files_along(world: World, shop: Shop) -> None:
    shop.add(files={"crds/one.yaml": DEFINITION})
    shop.add("kite")
    world.installs(component(release(shop.url)), component(release(shop.url, "kite"), name="kite"))
    world.gen("vendor")
    world.installs(component(release(shop.url, "kite"), name="kite"))
    world.gen("vendor")
    assert not [path for path in world.tree() if "toy" in path and "custom" not in path]


def test_every_patch_must_meet_an_object(world: World, shop: Shop) -> None:
    shop.add()
    operations = ({"op": "add", "path": "/data/more", "value": "yes"},)
    fits = Patch(target={"version": "v1", "kind": "ConfigMap", "name": "toy"}, operations=operations)
    world.installs(component(release(shop.url), patches=(fits,)))
    world.gen("vendor")
    assert built(world)[0]["data"] == {"text": "plain", "more": "yes"}
    astray = Patch(target={"version": "v1", "kind": "ConfigMap", "name": "bear"}, operations=operations)
    world.installs(component(release(shop.url, values={"text": "x"}), patches=(fits, astray)))
    assert "gen's patch of v1 ConfigMap bear meets no object" in world.gen("vendor", expect=1)


def test_update_moves_an_older_version_in_the_cluster_file(
    world: World, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("1.0.0", "2.0.0"):
        text = CONFIG_MAP.replace("\ndata:", f"\ndata:\n  version: {version!r}")
        pod = POD.replace("VERSION", version)
        shop.add(version=version, files={"templates/a.yaml": text, "templates/b.yaml": pod})
    versions = Versions("csi-nfs", tuple(Version(version=version) for version in ("2.0.0", "1.0.0")))

    def csi_nfs(cluster: Cluster) -> Component:
        version = versions.of(cluster).version
        return component(release(shop.url, version=version), name="csi-nfs", version=version)

    world.installs()
    definition = Definition(name="csi-nfs", tier=Tier.PLATFORM, make=csi_nfs, versions=versions)
    monkeypatch.setattr("generator.components.CATALOGUE", {"csi-nfs": definition})
    monkeypatch.setattr("generator.upstream.update.CATALOGUE", {"csi-nfs": definition})
    monkeypatch.setattr("generator.checks.versions.CATALOGUE", {"csi-nfs": definition})
    monkeypatch.setattr("generator.checks.versions.COMPONENTS", frozenset({"csi-nfs"}))
    file = "clusters/one/cluster.yaml"
    world.put(file, (world.root / file).read_text() + '  components:\n    csi-nfs: {version: "1.0.0"}   # why\n')
    world.gen("vendor")
    world.commit()
    tried = world.gen("vendor", "--update", "--dry-run")
    assert "one/csi-nfs: 1.0.0 -> 2.0.0" in tried
    assert "next: the same without --dry-run" in tried
    assert "gen vendor\n" not in tried
    assert '"1.0.0"}   # why' in (world.root / file).read_text()
    said = world.gen("vendor", "--update", "csi-nfs")
    assert 'csi-nfs: {version: "2.0.0"}   # why' in (world.root / file).read_text()
    assert "+ Pod toy/image-2.0.0" in said
    assert "- Pod toy/image-1.0.0" in said
    assert "~ ConfigMap toy/toy: data.version" in said
    assert "+ image x.example.org/a:2.0.0" in said
    assert "- image x.example.org/a:1.0.0" in said
    assert world.gen("check").endswith(f"{NOTHING}\n")
    assert "nothing to change" in world.gen("vendor")


def test_a_manifest_is_locked_like_a_chart(world: World, shop: Shop) -> None:
    binding = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: a}]
---
apiVersion: v1
kind: Secret
metadata: {name: empty}
"""
    shop.files["/m/install.yaml"] = binding.encode()
    url = f"{shop.url}/m/install.yaml"
    world.installs(component(manifests=(url,)))
    world.gen("vendor")
    assert world.lock()["manifests"] == {url: digest(binding.encode())}
    found = world.upstream()
    assert found["clusterrolebinding-b.yaml"]["subjects"][0]["namespace"] == "default"
    assert found["secret-empty.yaml"]["metadata"] == {"name": "empty", "namespace": "default"}
    shop.files["/m/install.yaml"] = SECRET.replace("{{ randAlphaNum 8 | quote }}", "hunter2").encode()
    said = world.gen("vendor", "toy", "--update", expect=1)
    assert "Secret key would be made by it" in said
    assert "hunter2" not in said


def test_progress_and_results_for_programs(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url)))
    first = json.loads(world.gen("vendor", "--output", "json", "--dry-run"))
    assert first["written"] is False
    assert first["components"][0]["was"] == "not vendored"
    assert not (world.root / "overlays").exists()
    assert json.loads(world.gen("vendor", "--output", "json"))["written"] is True
    world.edit("overlays/one/toy/upstream/configmap-toy.yaml", "plain", "bent")
    said = world.gen("vendor", "--check", "--output", "github", expect=1)
    assert said.startswith("::error file=overlays/one/toy/upstream/configmap-toy.yaml::not what the locked charts")
    assert "no cluster has a component of this name" in world.gen("vendor", "toi", expect=2)


def test_another_helm_is_refused(world: World, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "helm"
    other.write_text("#!/bin/sh\necho v3.1.0\n")
    other.chmod(0o755)
    monkeypatch.setenv("GEN_HELM", str(other))
    helm.cache_clear()
    world.installs(component(release(shop.url)))
    said = world.gen("vendor", expect=2)
    assert "Helm v3.19.0 is needed" in said
    assert f"GEN_HELM: {other} is v3.1.0" in said
    monkeypatch.setenv("GEN_HELM", "/nonexistent/helm")
    assert "GEN_HELM: `/nonexistent/helm` was not found" in world.gen("vendor", expect=2)
    other.write_text("#!/bin/sh\n")
    monkeypatch.setenv("GEN_HELM", str(other))
    assert f"GEN_HELM: {other} is no Helm" in world.gen("vendor", expect=2)
    helm.cache_clear()


def test_a_new_version_changes_only_what_it_changes(world: World, shop: Shop) -> None:
    """Not the labels that name the chart's version, nor first lines; equal CRDs are moved, which Git shows as such."""
    labels = "  labels: {helm.sh/chart: toy-VERSION, app.kubernetes.io/version: VERSION}\n"
    same = CONFIG_MAP.replace("\ndata:", f"\n{labels}data:")
    for version in ("1.0.0", "2.0.0"):
        pod = POD.replace("image-VERSION", "image")
        files = {"templates/a.yaml": same, "templates/b.yaml": pod, "crds/c.yaml": DEFINITION}
        shop.add(version=version, files={name: text.replace("VERSION", version) for name, text in files.items()})
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    world.commit()
    world.installs(component(release(shop.url, version="2.0.0"), version="2.0.0"))
    said = world.gen("vendor")
    world.git("add", "-A")
    changed = world.git("diff", "--cached", "-M", "--name-status", "--", "overlays/one/toy/upstream", "base")
    assert "configmap-toy.yaml" not in changed
    assert "R100\tbase/toy/1.0.0/crds/customresourcedefinition-toys.example.org.yaml\tbase/toy/2.0.0/crds/" in changed
    listed = [line.strip() for line in said.splitlines() if line.startswith("    ")]
    assert listed == [
        "+ image x.example.org/a:2.0.0", "- image x.example.org/a:1.0.0", "~ Pod toy/image: spec.containers[0].image",
    ]  # fmt: skip


def test_when_one_of_two_clusters_moves_only_the_schema_that_changed_is_told(two: World, shop: Shop) -> None:
    """Both versions' CRDs stand whole, for each cluster applies its own. Git knows the equal ones, and `gen diff` tells
    what differs in the others.
    """
    other = DEFINITION.replace("toys", "kites").replace("Toy", "Kite").replace("toy", "kite")
    changed = other.replace("type: object", "type: object, required: [spec]", 1)
    for version, kite in (("1.0.0", other), ("2.0.0", changed)):
        shop.add(version=version, files={"crds/toy.yaml": DEFINITION, "crds/kite.yaml": kite})
    two.installs(component(release(shop.url)), on=("one", "two"))
    two.gen("vendor")
    two.commit()
    two.installs(component(release(shop.url, version="2.0.0"), version="2.0.0"), on=("two",))
    two.gen("vendor")
    two.git("add", "-A")
    told = two.git("diff", "--cached", "--find-copies-harder", "--numstat", "--", "base")
    lines = {line.rpartition("-")[2]: line.split("\t")[:2] for line in told.splitlines()}
    assert lines["toys.example.org.yaml"] == ["0", "0"]
    assert lines["kites.example.org.yaml"] == ["2", "0"]
    said = two.gen("diff")
    assert 'spec.versions[v1].schema.openAPIV3Schema.required: nothing -> ["spec"]' in said
    assert "toys.example.org" not in said


def test_values_that_the_chart_does_not_know_are_told_by_a_check(world: World, shop: Shop) -> None:
    """A key that is read and not listed, one below an open map, and one that is listed do something, or may."""
    hidden = f"{CONFIG_MAP}  hidden: {{{{ .Values.hidden | default 1 }}}}\n"
    shop.add(files={"templates/map.yaml": hidden}, values="text: plain\nsub: {known: 1}\nopen: {}\nlisted: 1\n")
    given = "{text: new, txet: a, hidden: 2, sub: {knwon: 3}, open: {any: 4}, listed: 5}"
    world.edit("clusters/one/cluster.yaml", "spec:\n", f"spec:\n  components:\n    toy-0: {{values: {given}}}\n")
    world.installs(component(release(shop.url), name="toy-0"))
    # Whether that module was imported before or after the catalogue was another one.
    world.patch.setattr("generator.checks.versions.COMPONENTS", frozenset({"toy-0"}))
    unproven = "note: one: values of toy-0 are unproven until `gen vendor`: its chart is not vendored"
    assert world.gen("check").splitlines().count(unproven) == 1
    assert "note: one/toy-0: chart toy 1.0.0 has no value sub.knwon: it does nothing" in world.gen("vendor")
    said = world.gen("check")
    assert "unproven" not in said
    told = [line.partition("GEN-VEND-003: ")[2] for line in said.splitlines() if "GEN-VEND-003" in line]
    assert told == [f"the chart of toy-0 has no value {key}: it does nothing" for key in ("txet", "sub.knwon")]
    world.edit("clusters/one/cluster.yaml", "txet: a, ", "")
    assert world.gen("check").count("GEN-VEND-003") == 1
    world.edit("clusters/one/cluster.yaml", "knwon", "known")
    world.gen("vendor")
    assert "GEN-VEND" not in world.gen("check")


def test_values_that_came_after_vendoring_are_unproven(world: World, shop: Shop) -> None:
    shop.add(values="text: plain\nsub: {known: 1}\n")
    given = "{text: new, sub: {known: 3}, gone: null}"
    world.edit("clusters/one/cluster.yaml", "spec:\n", f"spec:\n  components:\n    toy-0: {{values: {given}}}\n")
    world.installs(component(release(shop.url), name="toy-0"))
    world.patch.setattr("generator.checks.versions.COMPONENTS", frozenset({"toy-0"}))
    world.gen("vendor")
    assert "unproven" not in world.gen("check")
    world.edit("clusters/one/cluster.yaml", "text: new, sub: {known: 3}", "text: {new: 1}, txet: a, sub: {knwon: 3}")
    unproven = "note: one: new values of toy-0 are unproven until `gen vendor`: text.new, txet, sub.knwon"
    assert unproven in world.gen("check").splitlines()
    world.edit("clusters/one/cluster.yaml", "text: {new: 1}", "text: new")
    world.gen("vendor")
    said = world.gen("check")
    assert "unproven" not in said
    idle = [line.partition("has no value ")[2] for line in said.splitlines() if "GEN-VEND-003" in line]
    assert idle == [f"{key}: it does nothing" for key in ("txet", "sub.knwon", "gone")]


BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NAME, namespace: toy}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: nobody, namespace: toy}]
"""


def test_what_a_chart_means_and_nobody_makes_is_counted(world: World, shop: Shop) -> None:
    """Nobody here can mend it; what is one's own is a warning. The errors are of Argo CD, which is not there."""
    shop.add(files={"templates/binding.yaml": BINDING.replace("NAME", "of-the-chart")})
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    said = world.gen("check", "--rendered", expect=1)
    assert "GEN-REF-005" not in said
    assert "not judged: 1 subject or Service that vendored objects name and nothing makes" in said
    custom = world.root / "overlays/one/toy/custom"
    (custom / "mine.yaml").write_text(BINDING.replace("NAME", "mine"))
    world.edit("overlays/one/toy/custom/kustomization.yaml", "resources: []", "resources: [mine.yaml]")
    said = world.gen("check", "--rendered", expect=1)
    assert said.count("GEN-REF-005") == 1
    assert "overlays/one/toy/custom/mine.yaml" in said


def test_what_was_vendored_is_not_to_be_rendered_next(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url)))
    assert world.gen("check").endswith(f"{RENDER}\n")
    world.gen("vendor")
    assert world.gen("check").endswith(f"{NOTHING}\n")
