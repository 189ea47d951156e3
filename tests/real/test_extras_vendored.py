"""A chart, manifests and a folder of one's own on their whole way: locked, vendored, judged, and taken out again."""

import pytest
import yaml
from chartshop import CONFIG_MAP, Shop
from chartworld import World
from vendoring import DEFINITION, SECRET, built

pytestmark = pytest.mark.real

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: toy}
rules: []
"""
CLASS = (
    "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: toy}\nspec: {controller: example.org/toy}\n"
)
FILE = "clusters/one/cluster.yaml"


def having(world: World, shop: Shop, name: str = "one", **more: str) -> None:
    """Add a component `toy` to a cluster file, with its chart from the shop, and render."""
    chart = f'{{name: toy, repository: "{shop.url}", version: 1.0.0}}'
    keys = {"namespace": "toys", "chart": chart, "tier": "platform", **more}
    lines = "".join(f"      {key}: {value}\n" for key, value in keys.items())
    file = world.root / f"clusters/{name}/cluster.yaml"
    text = file.read_text()
    assert "extras" not in text
    world.put(str(file.relative_to(world.root)), f"{text.rstrip()}\n  extras:\n    toy:\n{lines}")
    world.gen("render")


def errors(said: str) -> list[str]:
    return [line.partition(" error ")[2] for line in said.splitlines() if " error " in line]


def test_what_its_chart_brings_is_judged_and_the_file_says_what_it_may_write(world: World, shop: Shop) -> None:
    files = {"templates/map.yaml": CONFIG_MAP, "templates/role.yaml": ROLE, "templates/class.yaml": CLASS}
    shop.add(files=files | {"crds/toys.yaml": DEFINITION})
    having(world, shop, values="{text: mine}")
    assert "one/toy: " in world.gen("vendor", "toy")
    assert [one["data"]["text"] for one in built(world) if one["kind"] == "ConfigMap"] == ["mine"]
    world.gen("render")
    said = world.gen("check", "--rendered", expect=1)
    kinds = (
        "apiextensions.k8s.io/CustomResourceDefinition",
        "networking.k8s.io/IngressClass",
        "rbac.authorization.k8s.io/ClusterRole",
    )
    assert all(f"fix: add {kind} to extras.toy.kinds" in said for kind in kinds)
    assert len(errors(said)) == 3
    world.edit(FILE, "      namespace: toys", f"      kinds: [{', '.join(kinds)}]\n      namespace: toys")
    world.gen("render")
    assert "0 errors" in world.gen("check", "--rendered")


def test_another_namespace_is_written_to_only_where_the_file_says_so(world: World, shop: Shop) -> None:
    elsewhere = CONFIG_MAP.replace("metadata:\n", "metadata:\n  namespace: kube-public\n")
    shop.add(files={"templates/map.yaml": elsewhere})
    having(world, shop)
    world.gen("vendor", "toy")
    world.gen("render")
    assert "fix: add kube-public to extras.toy.reach" in world.gen("check", "--rendered", expect=1)
    world.edit(FILE, "      namespace: toys", "      reach: [kube-public]\n      namespace: toys")
    world.gen("render")
    world.gen("check", "--rendered")


def test_a_secret_of_its_chart_is_refused_until_it_is_declared(world: World, shop: Shop) -> None:
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "templates/key.yaml": SECRET})
    having(world, shop)
    assert "key" in world.gen("vendor", "toy", expect=1)
    world.edit(FILE, "      namespace: toys", "      namespace: toys\n      secrets: [{name: key, keys: [word]}]")
    world.gen("render")
    world.gen("vendor", "toy")
    assert [one["kind"] for one in built(world)] == ["ConfigMap"]
    declared = yaml.load((world.root / "clusters/one/bootstrap/secrets.yaml").read_text(), yaml.CSafeLoader)["secrets"]
    assert [one["name"] for one in declared if one["component"] == "toy"] == ["key"]


def test_a_secret_of_its_manifests_is_refused_until_it_is_declared(world: World, shop: Shop) -> None:
    key = "{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: toys}, stringData: {word: open}}\n"
    shop.files["/m/files.example.org/toy.yaml"] = f"{key}---\n{CLASS}".encode()
    world.edit(FILE, "  site:\n", f'  site:\n    manifests: "{shop.url}/m"\n')
    brought = (
        '{namespace: toys, kinds: [networking.k8s.io/IngressClass], manifests: ["https://files.example.org/toy.yaml"]}'
    )
    world.put(FILE, f"{(world.root / FILE).read_text().rstrip()}\n  extras:\n    toy: {brought}\n")
    world.gen("render")
    declared = "secrets: [{name: key, keys: [word]}]"
    said = world.gen("vendor", "toy", expect=1)
    assert f"declare it: `{declared}` below the component in `extras`, whose `namespace` is toys" in said
    assert "open" not in said
    world.edit(FILE, "{namespace: toys, kinds", f"{{namespace: toys, {declared}, kinds")
    world.gen("render")
    world.gen("vendor", "toy")
    assert [one["kind"] for one in built(world)] == ["IngressClass"]
    assert "0 errors" in world.gen("check", "--rendered")
    world.edit(FILE, "keys: [word]}", "keys: [word], source: in-cluster}")
    assert "stale, kept as they were: one/toy" in world.gen("render")
    world.gen("vendor", "toy")
    assert sorted(one["kind"] for one in built(world)) == ["IngressClass", "Secret"]


def test_a_definition_that_is_there_already_goes_as_the_finding_says(world: World, shop: Shop) -> None:
    shop.add(files={"crds/toys.yaml": DEFINITION, "templates/map.yaml": CONFIG_MAP})
    kinds = "kinds: [apiextensions.k8s.io/CustomResourceDefinition]"
    having(world, shop)
    chart = f'{{name: toy, repository: "{shop.url}", version: 1.0.0}}'
    world.edit(FILE, "  extras:\n", f"  extras:\n    first: {{namespace: first, {kinds}, chart: {chart}}}\n")
    world.gen("render")
    world.gen("vendor", "first", "toy")
    said = world.gen("check", "--rendered", expect=1)
    assert "fix: keep one of them: `$patch: delete` in overlays/one/toy/custom/ takes that of toy out" in said
    name = yaml.safe_load(DEFINITION)["metadata"]["name"]
    target = {"kind": "CustomResourceDefinition", "name": name}
    gone = (
        f"{{$patch: delete, apiVersion: apiextensions.k8s.io/v1, kind: {target['kind']}, metadata: {{name: {name}}}}}"
    )
    world.put(
        "overlays/one/toy/custom/kustomization.yaml",
        yaml.safe_dump(
            {
                "apiVersion": "kustomize.config.k8s.io/v1alpha1",
                "kind": "Component",
                "patches": [{"target": target, "patch": gone}],
            }
        ),
    )
    assert "0 errors" in world.gen("check", "--rendered")


def test_a_second_namespace_of_its_chart_is_another_component_s(world: World, shop: Shop) -> None:
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: toys-two}\n"
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "templates/space.yaml": space})
    having(world, shop)
    assert "component of `extras` have it (`namespace: toys-two`)" in world.gen("vendor", "toy", expect=1)
    world.edit(FILE, "  extras:\n", "  extras:\n    toys-two: {namespace: toys-two}\n")
    world.gen("render")
    world.gen("vendor", "toy")
    assert "0 errors" in world.gen("check", "--rendered")


def test_values_that_its_chart_does_not_know_are_told_at_their_place(world: World, shop: Shop) -> None:
    shop.add()
    having(world, shop, values="{txet: mine}")
    world.gen("vendor", "toy")
    said = world.gen("check")
    assert "GEN-VEND-003: the chart of toy has no value txet: it does nothing" in said
    assert "values: {txet: mine}" in said


def test_two_clusters_may_mean_different_charts_by_one_name(two: World, shop: Shop) -> None:
    """Of one version even: what they share in `base` is what is the same."""
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "crds/toys.yaml": DEFINITION})
    other = DEFINITION.replace("DESCRIPTION", "another one")
    shop.add("teddy", files={"templates/map.yaml": CONFIG_MAP, "crds/toys.yaml": other})
    having(two, shop, "one")
    having(two, shop, "two", chart=f'{{name: teddy, repository: "{shop.url}", version: 1.0.0}}')
    two.gen("vendor", "toy")
    two.gen("render")
    found = [
        next(one for one in built(two, cluster) if one["kind"] == "CustomResourceDefinition")
        for cluster in ("one", "two")
    ]
    described = [one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] for one in found]
    assert described == ["DESCRIPTION", "another one"]


def test_manifests_and_a_folder_are_built_as_well(world: World, shop: Shop) -> None:
    shop.files["/m/files.example.org/class.yaml"] = CLASS.encode()
    world.edit(FILE, "  site:\n", f'  site:\n    manifests: "{shop.url}/m"\n')
    own = CONFIG_MAP.replace("{{ .Release.Name }}", "house").replace("{{ .Values.text | quote }}", "a")
    world.put("apps/toy/kustomization.yaml", "namespace: toys\nresources: [map.yaml]\n")
    world.put("apps/toy/map.yaml", own)
    text = (world.root / FILE).read_text().rstrip()
    world.put(
        FILE,
        f"{text}\n  extras:\n    toy:\n      namespace: toys\n      folder: apps/toy\n"
        '      manifests: ["https://files.example.org/class.yaml"]\n'
        "      kinds: [networking.k8s.io/IngressClass]\n",
    )
    world.gen("render")
    world.gen("vendor", "toy")
    world.gen("render")
    assert sorted(one["kind"] for one in built(world)) == ["ConfigMap", "IngressClass"]
    world.gen("check", "--rendered")


def test_what_leaves_is_deleted_by_argo_cd_and_only_then_forgotten(world: World, shop: Shop) -> None:
    shop.add(files={"templates/map.yaml": CONFIG_MAP, "templates/class.yaml": CLASS})
    having(world, shop, kinds="[networking.k8s.io/IngressClass]")
    world.gen("vendor", "toy")
    world.gen("render")
    project = world.root / "clusters/one/argocd/appproject-platform.yaml"
    before = project.read_bytes()
    world.commit()
    world.edit(FILE, "      namespace: toys", "      installed: false\n      namespace: toys")
    world.gen("render")
    assert project.read_bytes() == before
    assert not (world.root / "overlays/one/toy/upstream").exists()
    told = world.gen("diff", "HEAD", expect=0)
    assert "Application argocd/toy" in told
    assert "AppProject" not in told


def test_its_folders_are_its_own(world: World, shop: Shop) -> None:
    """A chart from a name that would leave the folder is no name."""
    shop.add()
    having(world, shop)
    assert (world.root / "overlays/one/toy/releases/toy.yaml").is_file()
    world.edit(FILE, "version: 1.0.0", "version: ../../x")
    assert "extras.toy.chart.version" in world.gen("check", expect=1)
