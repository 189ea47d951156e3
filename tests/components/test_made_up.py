"""A new component touches its own folder, its section of `model/` and its line in the catalogue: shown with a made-up
one in a copy of the program.
"""

import json
import os
import subprocess
import sys
from filecmp import cmp
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml
from reference import ROOT

SECTION = '''
class Notebooks(Section, frozen=True, kw_only=True):
    """Notebooks for everybody."""

    host: str | None = None


'''
FOLDER = {
    "__init__.py": '''"""Notebooks: a made-up component."""

from collections.abc import Iterator

from generator.components.component import Component, Manifest, Tier
from generator.components.definition import Definition, Version, Versions
from generator.components.jobs import JobKind
from generator.components.operated import OWN, Api, Made, OperatedKind
from generator.model.cluster import Cluster
from generator.model.finding import Path

VERSIONS = Versions("notebooks", (Version(version="v1.0.0"),))
NAMESPACE = "notebooks"


def notebooks(cluster: Cluster) -> Component:
    from generator.components.notebooks.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def hosts(cluster: Cluster) -> Iterator[tuple[Path, str]]:
    if cluster.notebooks and cluster.notebooks.host:
        yield ("notebooks", "host"), cluster.notebooks.host


def volume(manifest: Manifest) -> Iterator[Made]:
    yield Made("PersistentVolumeClaim", f"{manifest['metadata']['name']}-home", OWN)


DEFINITION = Definition(
    name="notebooks",
    tier=Tier.PLATFORM,
    make=notebooks,
    wanted=lambda cluster: cluster.notebooks,
    absence="nobody asks for notebooks",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    hosts=hosts,
    apis=(Api(group="notebooks.example.org"),),
    kinds=(OperatedKind(kind="Notebook", names=(("ConfigMap", "spec.settings", OWN),), makes=volume),),
    jobs=(JobKind(group="notebooks.example.org", kind="Notebook", framework="notebooks.example.org/notebook"),),
    notes="Nothing is kept between two days.",
)
''',
    "install.py": '''"""Notebooks: the hub, and what it reads."""

from generator.components.component import Component, Manifest, Namespace, Secret
from generator.components.notebooks import DEFINITION, NAMESPACE, VERSIONS
from generator.model.cluster import Cluster


def install(cluster: Cluster) -> Component:
    version = VERSIONS.of(cluster)
    cookie = Secret(
        name="notebooks-cookie",
        namespace=NAMESPACE,
        keys=("cookie",),
        source="generated",
        loss="harmless",
        rotate="delete it",
        readers=("Deployment hub",),
    )
    return Component(
        name="notebooks",
        tier=DEFINITION.tier,
        summary="Notebooks for everybody",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=(settings(cluster),),
        secrets=(cookie,),
    )


def settings(cluster: Cluster) -> Manifest:
    assert cluster.notebooks
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "hub", "namespace": NAMESPACE},
        "data": {"host": cluster.notebooks.host or ""},
    }
''',
}
MODEL, CATALOGUE = "generator/model/cluster.py", "generator/components/__init__.py"
IMPORT = "from generator.components.notebooks import DEFINITION as NOTEBOOKS\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the program that has the component, and of the reference clusters."""
    root = tmp_path_factory.mktemp("copy")
    copytree(ROOT / "generator", root / "generator")
    pages = ("tools/docs.py", "tools/operations_index.py", "docs/words.yaml")
    for name in (*pages, "clusters/ml50/cluster.yaml", "clusters/a30-bench/cluster.yaml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes((ROOT / name).read_bytes())
    for name, text in FOLDER.items():
        file = root / "generator/components/notebooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    edit(root / MODEL, "class Spec(", f"{SECTION.lstrip()}class Spec(")
    edit(root / MODEL, "    gitops: Gitops =", "    notebooks: Notebooks | None = None\n    gitops: Gitops =")
    edit(root / CATALOGUE, "from generator.components.operated ", f"{IMPORT}from generator.components.operated ")
    edit(root / CATALOGUE, "        ARGO_CD,\n", "        NOTEBOOKS,\n        ARGO_CD,\n")
    edit(root / "clusters/ml50/cluster.yaml", "\n  gitops:", "\n  notebooks: {host: lab.ml50.example.org}\n  gitops:")
    return root


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
    file.write_text(text.replace(old, new))


def run(copy: Path, *arguments: str, status: int = 0) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT / 'tests'}"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def loaded(file: Path) -> Any:
    return yaml.load(file.read_text(), yaml.CSafeLoader)


def test_only_its_folder_its_section_and_the_catalogue_are_touched(copy: Path) -> None:
    ours = {file.relative_to(copy).as_posix() for file in (copy / "generator").rglob("*.py")}
    folder = {name for name in ours if name.startswith("generator/components/notebooks/")}
    changed = {name for name in ours - folder if not cmp(copy / name, ROOT / name, shallow=False)}
    assert changed == {MODEL, CATALOGUE}
    assert folder == {f"generator/components/notebooks/{name}" for name in FOLDER}


def test_it_is_rendered_and_what_names_all_components_names_it(copy: Path) -> None:
    run(copy, "-m", "generator", "render", "--cluster", "ml50")
    overlay = copy / "overlays/ml50/notebooks"
    assert loaded(overlay / "configmap-hub.yaml")["data"] == {"host": "lab.ml50.example.org"}
    application = loaded(copy / "clusters/ml50/argocd/application-notebooks.yaml")
    assert application["spec"]["source"]["path"] == "overlays/ml50/notebooks"
    secrets = loaded(copy / "clusters/ml50/bootstrap/secrets.yaml")
    assert "notebooks-cookie" in str(secrets)
    assert (copy / "overlays/ml50/namespaces/namespace-notebooks.yaml").exists()

    kueue = loaded(copy / "overlays/ml50/kueue/releases/kueue.yaml")["managerConfig"]["controllerManagerConfigYaml"]
    assert "notebooks.example.org/notebook" in yaml.load(kueue, yaml.CSafeLoader)["integrations"]["frameworks"]
    policy = loaded(copy / "base/tenants/v1/validatingadmissionpolicy-gen-queue-name.yaml")["spec"]
    held = [rule for rule in policy["matchConstraints"]["resourceRules"] if rule["resources"] == ["notebooks"]]
    assert [rule["apiGroups"] for rule in held] == [["notebooks.example.org"]]
    assert "'Notebook'" in str(policy["variables"])
    members = loaded(copy / "base/tenants/v1/clusterrole-gen-team-member.yaml")["rules"]
    assert any(rule["resources"] == ["notebooks"] and "create" in rule["verbs"] for rule in members)


def test_checks_know_its_name_its_namespace_its_host_and_why_it_is_absent(copy: Path) -> None:
    ml50, a30 = copy / "clusters/ml50/cluster.yaml", copy / "clusters/a30-bench/cluster.yaml"
    right = {file: file.read_text() for file in (ml50, a30)}
    edit(ml50, "\n    - name: vision\n", "\n    - name: notebooks\n")
    edit(ml50, "host: lab.ml50", "host: minio.ml50")
    edit(ml50, "\n  components: {}\n", "\n  components: {notebok: {sync: manual}}\n")
    edit(a30, "\n  gitops:", "\n  components: {notebooks: {sync: manual}}\n  gitops:")
    told = json.loads(run(copy, "-m", "generator", "check", "--output", "json", status=1))
    for file, text in right.items():
        file.write_text(text)
    assert {(one["code"], one["message"], one["fix"]) for one in told["findings"]} >= {
        ("GEN-TEAM-021", "the namespace notebooks is not a team's: the system uses it", "name: team-notebooks"),
        ("GEN-SITE-010", "two services have the host minio.ml50.example.org", "host: notebooks.ml50.example.org"),
        (
            "GEN-K8S-024",
            "the cluster has no notebooks: nobody asks for notebooks",
            "ask for it, or remove the settings",
        ),
        ("GEN-K8S-021", "there is no component notebok", "did you mean notebooks?"),
    }


def test_rules_on_objects_know_its_kinds(copy: Path) -> None:
    program = """
from manifests import built, manifest
from generator.rules.mentions import mentions
from generator.rules.providers import Providers
from generator.rules.queues import held
found = built(manifest("Notebook", "notebooks.example.org/v1", name="ada", spec={"settings": "hub"}))
(one,) = found.objects
print(held(one))
print(*(each.reference.kind for each in mentions(one, found)))
print(*(each.name for each in Providers.of(found).by_reference))
"""
    assert {"True", "ConfigMap", "ada-home"} <= set(run(copy, "-c", program).split())


def test_its_page_is_written(copy: Path) -> None:
    program = "import runpy; print(runpy.run_path('tools/docs.py')['components']())"
    page = run(copy, "-c", program).partition("## notebooks\n")[2].partition("\n## ")[0]
    for told in ("Notebooks for everybody.", "- Version: v1.0.0", "`notebooks/notebooks-cookie`", "Nothing is kept"):
        assert told in page
