"""What `gen render` says of the files it overwrites."""

from pathlib import Path

import pytest

from generator.layout.emit import emit
from generator.layout.files import component_file
from generator.model.change import Effect
from generator.repository.plan import Change
from generator.review.overwritten import MOST, SHARED, consequences
from generator.review.text import brief

STATEFUL = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: web, namespace: shop}}
spec: {{replicas: 3, serviceName: {name}, template: {{spec: {{containers: [{{name: web, image: "web:{tag}"}}]}}}}}}
"""


def stateful(name: str = "one", tag: str = "1") -> bytes:
    return STATEFUL.format(name=name, tag=tag).encode()


def change(path: str, old: bytes | None, new: bytes | None) -> Change:
    return Change(path, old, new)


def using(tmp_path: Path, folder: str) -> None:
    """Have a cluster that is built from a folder of `base`."""
    for path, text in (
        ("clusters/one/cluster.yaml", ""),
        (f"overlays/one/{folder.split('/')[1]}/kustomization.yaml", f"resources:\n- ../../../{folder}\n"),
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)


def effects(tmp_path: Path, *changes: Change) -> dict[str, list[Effect]]:
    return {one.found.cluster: [each.effect for each in one.judged] for one in consequences(tmp_path, changes)}


def test_each_file_is_told_by_what_it_means(tmp_path: Path) -> None:
    web, base = "overlays/one/web/web.yaml", "base/web/v1/web.yaml"
    using(tmp_path, "base/web/v1")
    assert effects(tmp_path, change(web, stateful(), stateful(tag="2"))) == {"one": [Effect.ROLLING]}
    assert effects(tmp_path, change(web, stateful(), stateful("two"))) == {"one": [Effect.IMPOSSIBLE]}
    assert effects(tmp_path, change(base, stateful(), stateful("two"))) == {SHARED: [Effect.IMPOSSIBLE]}
    assert effects(tmp_path, change(web, stateful(), None)) == {"one": [Effect.OUTAGE]}


def test_a_policy_is_not_felt_where_its_namespace_comes_with_it_alone(tmp_path: Path) -> None:
    policy = b"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web, namespace: shop}\n"
    space = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
    using(tmp_path, "base/web/v1")
    web, there = change("overlays/one/web/web.yaml", stateful(), stateful(tag="2")), "overlays/one/web/policy.yaml"
    assert effects(tmp_path, web, change(there, None, policy)) == {"one": [Effect.UNKNOWN, Effect.ROLLING]}
    comes = change("overlays/one/namespaces/shop.yaml", None, space)
    assert Effect.UNKNOWN not in effects(tmp_path, web, change(there, None, policy), comes)["one"]


def test_a_cluster_that_goes_is_one_row_and_what_only_it_used_is_none(tmp_path: Path) -> None:
    using(tmp_path, "base/web/v1")
    gone = (
        change("clusters/two/argocd/application-web.yaml", b"kind: Application", None),
        change("overlays/two/web/web.yaml", stateful(), None),
        change("base/web/v2/web.yaml", stateful(), None),
    )
    assert effects(tmp_path, *gone) == {"two": [Effect.BY_HAND]}
    said = list(brief(consequences(tmp_path, gone)))
    assert said[0] == "what it does: 1 by hand; `gen diff` tells more"


def test_what_moves_to_another_version_of_a_base_is_no_object_that_goes(tmp_path: Path) -> None:
    using(tmp_path, "base/web/v2")
    file = "overlays/one/web/kustomization.yaml"
    moved = (
        change("base/web/v1/web.yaml", stateful(), None),
        change("base/web/v2/web.yaml", None, stateful(tag="2")),
        change(file, b"resources:\n- ../../../base/web/v1\n", b"resources:\n- ../../../base/web/v2\n"),
    )
    assert effects(tmp_path, *moved)[SHARED] == [Effect.ROLLING]


def test_a_file_that_moves_is_no_object_that_goes(tmp_path: Path) -> None:
    moved = (
        change("overlays/one/web/a.yaml", stateful(), None),
        change("overlays/one/web/b.yaml", None, stateful(tag="2")),
    )
    assert effects(tmp_path, *moved) == {"one": [Effect.ROLLING]}


def test_what_is_written_for_the_first_time_means_nothing(tmp_path: Path) -> None:
    assert consequences(tmp_path, [change("overlays/one/web/web.yaml", None, stateful())]) == []


@pytest.mark.parametrize("path", ["schemas/cluster.schema.json", "gen.lock", ".gitignore", "clusters/one/cluster.yaml"])
def test_files_that_are_applied_nowhere_say_nothing(tmp_path: Path, path: str) -> None:
    assert consequences(tmp_path, [change(path, b"a: 1\n", b"a: 2\n")]) == []


def test_many_files_are_left_to_the_comparison_that_can_wait(tmp_path: Path) -> None:
    many = [change(f"overlays/one/web/{number}.yaml", stateful(), stateful("two")) for number in range(MOST + 1)]
    assert consequences(tmp_path, many) == []
    assert len(consequences(tmp_path, many[:-1])[0].judged) == 1


def test_a_file_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    assert consequences(tmp_path, [change("overlays/one/web/web.yaml", b"a: [", b"{")]) == []


def test_the_loudest_comes_first_and_little_is_said(tmp_path: Path) -> None:
    web = [
        change(
            f"overlays/one/web/{number}.yaml",
            stateful().replace(b"shop", b"shop%d" % number),
            stateful("two" if number == 5 else "one", str(number)).replace(b"shop", b"shop%d" % number),
        )
        for number in range(2, 12)
    ]
    said = list(brief(consequences(tmp_path, web)))
    assert said[0] == "what it does: 1 impossible, 9 rolling; `gen diff` tells more"
    assert said[1].startswith("  impossible   one: StatefulSet shop5/web changed")
    assert len(said) < 10


def held(namespace: str) -> bytes:
    """An Application whose objects go to a namespace unless they say another."""
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\n"
        f"spec: {{destination: {{namespace: {namespace}}}}}\n"
    ).encode()


@pytest.mark.parametrize(
    ("file", "text", "effect"),
    [
        ("web.yaml", "", Effect.NONE),
        ("custom/kustomization.yaml", "# yours\n" + emit(component_file(resources=[])), Effect.NONE),
        ("custom/kustomization.yaml", emit(component_file(resources=["claim.yaml"])), Effect.DATA_LOSS),
        ("custom/claim.yaml", "", Effect.DATA_LOSS),
        ("releases/kustomization.yaml", "", Effect.DATA_LOSS),
        ("upstream/kustomization.yaml", "", Effect.DATA_LOSS),
        ("kustomization.yaml", "resources: [https://example.org/all.yaml]\n", Effect.DATA_LOSS),
    ],
)
def test_what_gen_wrote_says_its_namespace_and_others_may_not(
    tmp_path: Path, file: str, text: str, effect: Effect
) -> None:
    """As where the first team of a cluster gets another name."""
    using(tmp_path, "base/web/v1")
    place = tmp_path / "overlays/one/web" / file
    place.parent.mkdir(exist_ok=True)
    place.write_text(text)
    application = "clusters/one/argocd/application-web.yaml"
    assert effects(tmp_path, change(application, held("a"), held("b"))) == {"one": [effect]}


def test_values_of_a_chart_are_told_with_the_release_that_stands_beside_them(tmp_path: Path) -> None:
    using(tmp_path, "base/web/v1")
    place = tmp_path / "overlays/one/web"
    (place / "releases").mkdir()
    (place / "releases/kustomization.yaml").write_text(
        "helmCharts: [{name: web, repo: 'https://example.org', version: 1.0.0, valuesFile: values.yaml}]\n"
    )
    values = change("overlays/one/web/releases/values.yaml", b"some: 1\n", b"some: 2\n")
    assert effects(tmp_path, values) == {"one": [Effect.UNKNOWN]}
    (place / "upstream").mkdir()
    (place / "upstream/inputs.yaml").write_text("releases: []\n")
    assert effects(tmp_path, values) == {}, "of what is vendored the objects tell"


def application(name: str, *finalizers: str) -> bytes:
    """An Application of one repository."""
    listed = ", ".join(finalizers)
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd, "
        f"finalizers: [{listed}]}}\nspec: {{project: web, source: {{repoURL: https://git.example.org/lab}}}}\n"
    ).encode()


@pytest.mark.parametrize(
    ("finalizers", "effect"),
    [((), Effect.BY_HAND), (("resources-finalizer.argocd.argoproj.io",), Effect.OUTAGE)],
)
def test_what_an_application_leaves_behind_is_told_as_by_the_comparison(
    tmp_path: Path, finalizers: tuple[str, ...], effect: Effect
) -> None:
    using(tmp_path, "base/web/v1")
    gone = change("clusters/one/argocd/application-web.yaml", application("web", *finalizers), None)
    assert effects(tmp_path, gone, change("overlays/one/web/web.yaml", stateful(), None)) == {"one": [effect, effect]}


def test_what_stands_beside_a_project_that_goes_is_known(tmp_path: Path) -> None:
    using(tmp_path, "base/web/v1")
    project = (
        b"apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: web, namespace: argocd}\nspec: {}\n"
    )
    gone = change("clusters/one/argocd/project-web.yaml", project, None)
    assert effects(tmp_path, gone) == {"one": [Effect.NONE]}
    (tmp_path / "clusters/one/argocd").mkdir()
    (tmp_path / "clusters/one/argocd/application-web.yaml").write_bytes(application("web"))
    assert effects(tmp_path, gone) == {"one": [Effect.OUTAGE]}


def test_the_words_of_a_rule_name_the_cluster(tmp_path: Path) -> None:
    using(tmp_path, "base/web/v1")
    lists = [f"label cpu-1 gen.internal/pool=cpu{more}\n".encode() for more in ("", " a=b")]
    (told,) = consequences(tmp_path, [change("clusters/one/bootstrap/nodes/labels.list", *lists)])
    (meaning,) = told.judged[0].meanings
    assert meaning.rule
    assert "clusters/one/bootstrap/README.md" in meaning.rule.instead


@pytest.mark.parametrize(
    ("finalizers", "effect"),
    [((), Effect.BY_HAND), (("resources-finalizer.argocd.argoproj.io",), Effect.OUTAGE)],
)
def test_what_an_application_leaves_behind_of_a_shared_folder_is_told_so(
    tmp_path: Path, finalizers: tuple[str, ...], effect: Effect
) -> None:
    using(tmp_path, "base/other/v1")
    kind = b"apiVersion: argoproj.io/v1alpha1\nkind: WorkflowTemplate\n"
    gone = (
        change("clusters/one/argocd/application-web.yaml", application("web", *finalizers), None),
        change("overlays/one/web/kustomization.yaml", b"resources:\n- ../../../workflows/backup\n", None),
        change("workflows/backup/backup.yaml", kind + b"metadata: {name: backup, namespace: a}\nspec: {}\n", None),
    )
    assert effects(tmp_path, *gone)[SHARED] == [effect]
    assert SHARED not in effects(tmp_path, gone[0], gone[2]), "nobody is, or was, built from it"
