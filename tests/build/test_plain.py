"""What is read without Kustomize is what Kustomize builds."""

import shutil
from pathlib import Path

import pytest

from generator.build import applications, building, cache, parts
from generator.build.kustomize import program, run_kustomize
from generator.build.plain import plain_objects
from generator.components.component import Manifest
from generator.repository.cluster_files import load

ROOT = Path(__file__).parents[2]
OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {a: 'yes', b: '1'}}\n"


def by_name(found: list[tuple[Manifest, str]]) -> list[tuple[str, Manifest]]:
    return sorted(((file, one) for one, file in found), key=lambda one: (one[0], str(one[1]["metadata"])))


def test_the_reference_clusters_read_as_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def compared(command: list[str], folder: Path, place: str, component: str = "") -> list[tuple[Manifest, str]]:
        nonlocal read
        found, made = plain_objects(folder), run_kustomize(command, folder, place, component)
        if found is not None:
            read += 1
            assert by_name(found) == by_name(made), place
        return made

    monkeypatch.setattr(parts, "build_folder", compared)
    monkeypatch.setattr(cache, "place", lambda _: None)
    for one in load(ROOT):
        assert one.cluster
        applications.build(ROOT, one.cluster, tolerant=True)
    assert read > 30


KUSTOMIZATIONS = {
    "a label for all": "labels: [{pairs: {a: b}}]\nresources: [a.yaml]\n",
    "a name before all": "namePrefix: x-\nresources: [a.yaml]\n",
    "an image": "images: [{name: a, newTag: '2'}]\nresources: [a.yaml]\n",
    "a patch": "resources: [a.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '{data: {b: null}}'}]\n",
    "a generator": "resources: [a.yaml]\nconfigMapGenerator: [{name: c, literals: [a=b]}]\n",
    "the same twice": "resources: [a.yaml, a.yaml]\n",
    "a file that is not there": "resources: [absent.yaml]\n",
}
OBJECTS = {
    "a List": "{apiVersion: v1, kind: List, items: []}",
    "an object that stays at home": OBJECT.replace(
        "b}", "b, annotations: {config.kubernetes.io/local-config: 'true'}}"
    ),
    "nothing for labels": OBJECT.replace("b}", "b, labels: null}"),
    "only the beginning of a name": OBJECT.replace("{name:", "{generateName:"),
    "no object": "{a: 1}",
    "a key that one takes for a text": OBJECT.replace("a: 'yes'", "on: 'yes'"),
    "a number for a key": OBJECT.replace("a: 'yes'", "1: 'yes'"),
    "a key twice": OBJECT.replace("data:", "kind: Secret, data:"),
    "a namespace that is a map": OBJECT.replace("namespace: b", "namespace: {b: c}"),
}


@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_what_kustomize_would_change_or_refuse_is_left_to_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(KUSTOMIZATIONS[name])
    (tmp_path / "a.yaml").write_text(OBJECT)
    assert plain_objects(tmp_path) is None


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_that_kustomize_would_change_or_refuse_are_left_to_it(name: str, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "a.yaml").write_text(OBJECTS[name])
    assert plain_objects(tmp_path) is None


def test_a_list_of_files_needs_no_program(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "kustomization.yaml").write_text("resources: [below]\n")
    (tmp_path / "below/kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "below/a.yaml").write_text(OBJECT)
    gone = shutil.which("true") or ""
    ((found, file),) = building.build_folder([gone], tmp_path, "a")
    assert file == "below/a.yaml"
    assert [(found, file)] == [(one, place.removeprefix("")) for one, place in run_kustomize_of(tmp_path)]


def run_kustomize_of(folder: Path) -> list[tuple[Manifest, str]]:
    top = folder / "kustomization.yaml"
    top.write_text(f"{top.read_text()}buildMetadata: [originAnnotations]\n")
    return run_kustomize(program(), folder, "a")


COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
REFUSED = {
    "itself": "resources: [.]\n",
    "nothing": "resources: [null]\n",
    "a mapping": "resources: {a: b}\n",
    "a file outside its folder": "resources: [../a.yaml]\n",
    "a file for a component": "components: [a.yaml]\n",
    "another kind": f"{COMPONENT}resources: [a.yaml]\n",
    "a label that Kustomize adds": "resources: [a.yaml]\nbuildMetadata: [managedByLabel]\n",
    "nothing at all": "kind: Kustomization\n",
    "a patch that is not there": "resources: []\npatches: [{target: {kind: A}, path: absent.yaml}]\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_kustomize_refuses_is_never_read(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "it"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "a.yaml").write_text(OBJECT)
    (folder / "kustomization.yaml").write_text(REFUSED[name])
    assert plain_objects(folder) is None


def test_a_kustomization_behind_a_link_out_of_its_folder_is_kustomizes_to_refuse(tmp_path: Path) -> None:
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / "a.yaml").write_text(OBJECT)
    for place in (tmp_path / "there.yaml", folder / "here.yaml"):
        place.write_text("resources: [a.yaml]\n")
    (folder / "kustomization.yaml").symlink_to("here.yaml")
    assert plain_objects(folder)
    (folder / "kustomization.yaml").unlink()
    (folder / "kustomization.yaml").symlink_to("../there.yaml")
    assert plain_objects(folder) is None


def test_what_a_user_adds_is_kustomizes_to_build(tmp_path: Path) -> None:
    custom = tmp_path / "custom"
    custom.mkdir()
    (custom / "a.yaml").write_text(OBJECT)
    (tmp_path / "kustomization.yaml").write_text("resources: []\ncomponents: [custom]\n")
    (custom / "kustomization.yaml").write_text(f"{COMPONENT}resources: []\n")
    assert plain_objects(tmp_path) == []
    (custom / "kustomization.yaml").write_text(f"{COMPONENT}resources: [a.yaml]\n")
    assert plain_objects(tmp_path) is None


@pytest.mark.parametrize("value", ["yes", "off", "N", "2020-01-01"])
def test_words_that_yaml_reads_in_two_ways_are_left_to_kustomize(value: str, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "a.yaml").write_text(OBJECT.replace("'yes'", value))
    assert plain_objects(tmp_path) is None
    (tmp_path / "a.yaml").write_text(OBJECT)
    assert plain_objects(tmp_path) is not None
