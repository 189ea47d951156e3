"""What is asked, in which order, and what is told of it. Real servers are in tests/real/test_dry_run.py."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Asked, Reply, serving
from loopback import config as kubeconfig
from madeup import config, definition, made, space, told, widget

from generator.cli import run
from generator.cli.server import check_server
from generator.errors import UsageError
from generator.live.api import ApiConnection, of_kubeconfig
from generator.live.dry_run.dry_run import dry_run
from generator.rules.judging import Answers

KINDS = {
    "/api/v1": [("configmaps", "ConfigMap", True), ("namespaces", "Namespace", False), ("pods/exec", "Exec", True)],
    "/apis/apiextensions.k8s.io/v1": [("customresourcedefinitions", "CustomResourceDefinition", False)],
}


class Toy:
    """The little of an API server that a dry run needs. It refuses the field `nonsense`."""

    def __init__(self) -> None:
        self.stored = {"default": "/api/v1/namespaces/default"}
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        status, body = self.answer(asked, asked.path.partition("?")[0])
        # A real one says the kind of whatever it answers.
        return status, {}, json.dumps(body if "gitVersion" in body else {"kind": "Status", **body}).encode()

    def answer(self, asked: Asked, path: str) -> tuple[int, Any]:
        if path == "/version":
            return 200, {"gitVersion": "v1.34.2"}
        if path.endswith("selfsubjectreviews"):
            return 201, {"status": {"userInfo": {"username": "toy"}}}
        if asked.method == "GET":
            return self.get(path)
        if "dryRun" not in asked.path:
            self.stored[asked.body["metadata"]["name"]] = path
            return 201, {}
        return self.judge(asked)

    def get(self, path: str) -> tuple[int, Any]:
        kinds = dict(KINDS)
        if "widgets.example.org" in self.stored:
            kinds["/apis/example.org/v1"] = [("widgets", "Widget", True)]
        if path in kinds:
            resources = [{"name": name, "kind": kind, "namespaced": scoped} for name, kind, scoped in kinds[path]]
            return 200, {"resources": resources}
        found = path in self.stored.values()
        return (200, {"status": {"conditions": [{"type": "Established", "status": "True"}]}}) if found else (404, {})

    def judge(self, asked: Asked) -> tuple[int, Any]:
        name = asked.body["metadata"].get("namespace", "default")
        if name not in self.stored:
            return 404, {"message": f'namespaces "{name}" not found', "details": {"kind": "namespaces"}}
        if "nonsense" in asked.body and asked.method == "PATCH":
            return 500, {
                "message": "failed to create typed patch object (a; v1): .nonsense: field not declared in schema"
            }
        if "nonsense" in asked.body:
            unknown = [f'unknown field "{key}"' for key in ("nonsense", "dta") if key in asked.body]
            return 400, {"message": f"strict decoding error: {', '.join(unknown)}"}
        return (409, {}) if asked.body["metadata"].get("name") == "taken" else (201, asked.body)

    def changed(self) -> list[str]:
        return [
            asked.path.partition("?")[0]
            for asked in self.asked
            if asked.method == "PATCH" and "dryRun" not in asked.path
        ]


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def path(toy: Toy, tmp_path: Path) -> Iterator[Path]:
    with serving(toy) as url:
        yield kubeconfig(tmp_path, url)


@pytest.fixture
def api(path: Path) -> ApiConnection:
    return of_kubeconfig(path, None)


def test_on_a_users_cluster_nothing_is_stored(api: ApiConnection, toy: Toy) -> None:
    new = [config("a", "new"), config("b", "new", nonsense=1), config("taken", "new")]
    judged = dry_run(made(space("new"), *new, definition("Widget", "widgets"), widget()), api)
    assert told(judged.findings) == [("GEN-SRV-002", "2.yaml", ("nonsense",))]
    assert judged.judged == 4
    assert judged.unjudged == (
        "1 object: the namespace new is new to the cluster",
        "1 object: the definition of Widget.example.org is new to the server, or was refused",
    )
    assert toy.changed() == []
    assert all("dryRun=All" in asked.path for asked in toy.asked if asked.method in {"PATCH", "POST"})


def test_on_a_throw_away_server_definitions_and_namespaces_are_stored_first(api: ApiConnection, toy: Toy) -> None:
    api.throw_away = True
    webhook = definition("Widget", "widgets", conversion={"strategy": "Webhook"})
    built = made(config("a", "elsewhere"), widget(), webhook, definition("Gadget", "gadgets"), space("new"))
    assert dry_run(built, api) == Answers(findings=(), judged=5, unjudged=())
    place = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org"
    first, *spaces = toy.changed()
    assert first == place
    assert sorted(spaces) == [f"/api/v1/namespaces/{name}" for name in ("default", "elsewhere", "new")]
    assert "conversion" not in next(asked for asked in toy.asked if asked.path.startswith(place)).body["spec"]


def test_what_is_nowhere_served_is_a_problem_only_where_that_is_certain(api: ApiConnection) -> None:
    old = {**config(), "apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget"}
    judged = dry_run(made(old, widget(), {**widget(), "metadata": {"name": "b"}}), api)
    assert told(judged.findings) == [("GEN-SRV-001", "0.yaml", ("apiVersion",))]
    assert judged.findings[0].fix == "write it in policy/v1"
    what = "nothing here defines Widget.example.org; vendor it, or give its CRD with --schemas"
    assert judged.unjudged == (f"2 objects: {what}",)


def test_all_unknown_fields_are_told_where_server_side_apply_tells_one(api: ApiConnection) -> None:
    found = told(dry_run(made(config(nonsense=1, dta=1)), api).findings)
    assert found == [("GEN-SRV-002", "0.yaml", ("nonsense",)), ("GEN-SRV-002", "0.yaml", ("dta",))]


def test_a_name_that_the_server_makes_is_created(api: ApiConnection, toy: Toy) -> None:
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-", "namespace": "default"}}
    assert dry_run(made(named), api).findings == ()
    assert toy.asked[-1].method == "POST"


def test_names_cannot_lead_elsewhere(api: ApiConnection, toy: Toy) -> None:
    dry_run(made(config("../../x?dryRun="), config("a", "../default")), api)
    paths = {asked.path.partition("?")[0] for asked in toy.asked if asked.method == "PATCH"}
    assert paths == {
        "/api/v1/namespaces/default/configmaps/..%2F..%2Fx%3FdryRun%3D",
        "/api/v1/namespaces/..%2Fdefault/configmaps/a",
    }


def test_the_command_tells_which_server_it_was_and_what_was_not_judged(
    path: Path, capsys: pytest.CaptureFixture[str], ml50: Any
) -> None:
    built = made(config(nonsense=1), widget(), unseen=("cilium",), cluster=ml50)
    judged = check_server(built, path, "here")
    assert told(judged.findings) == [("GEN-SRV-002", "0.yaml", ("nonsense",))]
    assert [one.partition(":")[0] for one in judged.unjudged] == ["1 object"]
    said = capsys.readouterr()
    assert said.out == ""
    assert " as toy, Kubernetes v1.34.2, in " in said.err
    assert "the cluster file says 1.35.3: another minor may serve" in said.err
    assert "not judged: 1 object: nothing here defines Widget.example.org" in said.err
    assert "not vendored, so not judged: what cilium bring" in said.err


def knowing(*fields: str) -> dict[str, Any]:
    """The definition of Widget with these fields beside `spec`."""
    crd = definition("Widget", "widgets")
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] |= {one: {} for one in fields}
    return crd


CHANGES = (
    "the definition of Widget.example.org changes with this commit; without --kubeconfig a throw-away server judges "
    "by the new one"
)


def test_what_a_definition_of_the_same_commit_allows_is_not_judged(api: ApiConnection, toy: Toy) -> None:
    toy.stored["widgets.example.org"] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org"
    fresh = {**widget(), "nonsense": 1}
    judged = dry_run(made(knowing("nonsense"), fresh, {**widget(), "metadata": {"name": "b"}}), api)
    assert judged == Answers(findings=(), judged=2, unjudged=(f"1 object: {CHANGES}",))
    # What the new one does not know either is wrong on any day.
    judged = dry_run(made(knowing("nonsense"), {**fresh, "dta": 1}), api)
    assert told(judged.findings) == [("GEN-SRV-002", "1.yaml", ("dta",))]
    assert (judged.judged, judged.unjudged) == (2, ())
    judged = dry_run(made(knowing(), fresh), api)
    assert told(judged.findings) == [("GEN-SRV-002", "1.yaml", ("nonsense",))]
    # Nor does it change with the commit when it lies at hand only.
    judged = dry_run(made(fresh, definitions=(knowing("nonsense"),)), api)
    assert told(judged.findings) == [("GEN-SRV-002", "0.yaml", ("nonsense",))]


def test_it_is_so_in_a_new_namespace_as_well(api: ApiConnection, toy: Toy) -> None:
    toy.stored["widgets.example.org"] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org"
    fresh = {**widget(), "metadata": {"name": "a", "namespace": "new"}, "nonsense": 1}
    judged = dry_run(made(space("new"), knowing("nonsense"), fresh), api)
    assert judged == Answers(findings=(), judged=2, unjudged=(f"1 object: {CHANGES}",))


def test_a_throw_away_server_has_the_new_definition_and_excuses_nothing(api: ApiConnection) -> None:
    api.throw_away = True
    judged = dry_run(made(knowing("nonsense"), {**widget(), "nonsense": 1}), api)
    assert told(judged.findings) == [("GEN-SRV-002", "1.yaml", ("nonsense",))]


def test_json_has_what_the_server_could_not_judge(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(widget()))
    arguments = ["check", "--server", "--kubeconfig", str(path), str(tmp_path / "mine.json"), "--output", "json"]
    assert run(arguments) == 0
    (one,) = json.loads(capsys.readouterr().out)["judged"].values()
    assert one["notJudged"] == [
        "1 object: nothing here defines Widget.example.org; vendor it, or give its CRD with --schemas"
    ]


def test_a_context_needs_its_kubeconfig() -> None:
    with pytest.raises(UsageError, match="give --kubeconfig as well"):
        check_server(made(config()), None, "here")
