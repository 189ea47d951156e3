"""Pipelines of a team on `ml50`: the real controller of Argo Workflows with its own rights, beside Kueue and Volcano.

No executor runs in simulated pods: the test tells what became of a step, with the account that a step has.
"""

import tempfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs
from reference import ROOT, load, render

from generator.model.cluster import Cluster
from generator.workloads import workload
from generator.workloads.wanted import Wanted

if TYPE_CHECKING:
    from twin.fixtures import Twin
    from twin.team import Member

pytest_plugins = ["apiserver", "twin.fixtures"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
NEVER = 5.0
"""Seconds in which what must not happen would have happened."""
GROUP = "/apis/argoproj.io/v1alpha1/namespaces"
QUEUE, GPU = "kueue.x-k8s.io/queue-name", "nvidia.com/gpu"
PLURALS = tuple(f"argoproj.io/v1alpha1 {one}" for one in ("cronworkflows", "workflows", "workflowtemplates"))


def with_pipelines() -> Cluster:
    """Return ml50 with pipelines of vision."""
    cluster = load("ml50")
    teams = tuple(structs.replace(one, pipelines=one.name == "vision") for one in cluster.teams)
    return structs.replace(cluster, teams=teams)


@pytest.fixture(scope="module")
def piped() -> Iterator["Twin"]:
    from onenode.argo import alone
    from twin.fixtures import twin_of
    from twin.team import eventually

    with tempfile.TemporaryDirectory(prefix="pipe-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        render(folder / "repository", "ml50", (ROOT / "clusters/ml50/cluster.yaml").read_text())
        (folder / "twin").mkdir()
        with (
            twin_of(
                folder / "repository", "ml50", folder / "twin", definitions=("argo-workflows/v4.0.2/crds",)
            ) as made,
            alone(made.api, with_pipelines()),
        ):
            # Its controller looks for new kinds twice a minute, and then again at all that quotas count.
            eventually("the quota counts workflows", lambda: counted(made), 120.0)
            yield made


def counted(twin: "Twin") -> bool:
    """Tell whether the quota's controller has looked at all kinds: until then it lets none in."""
    quota = twin.api.get("/api/v1/namespaces/vision/resourcequotas/team")
    return bool(quota["spec"]["hard"].keys() == quota["status"].get("used", {}).keys())


@pytest.fixture
def vision(piped: "Twin") -> Iterator["Member"]:
    yield piped.member("vision")
    piped.clean(*PLURALS)


def written(gpus: int = 8) -> list[Object]:
    """Return what gen writes, with empty folders for claims: nothing serves volumes on a twin."""
    from twin.frameworks import on_twin

    wanted = Wanted(name="digits", team="vision", gpus=gpus, image="registry.example.org/digits:1", priority="low")
    found = workload(with_pipelines(), "pipeline", wanted).manifests
    return [on_twin(one) for one in found if one["kind"] != "PersistentVolumeClaim"]


def changed(way: Callable[[Object], object]) -> list[Object]:
    """Return the same with a change of the template's spec."""
    made = deepcopy(written())
    way(next(one["spec"] for one in made if one["kind"] == "WorkflowTemplate"))
    return made


class Pipeline:
    """A run of a team's pipeline."""

    def __init__(self, member: "Member", manifests: list[Object]) -> None:
        self.member, self.api = member, member.api
        for one in manifests:
            answer = member.submit(one)
            if answer != (201, ""):
                pytest.fail(f"{one['kind']}: {answer}")

    def status(self) -> Object:
        (found,) = self.api.items(f"{GROUP}/{self.member.team}/workflows")
        status: Object = found.get("status", {})
        return status

    def pod(self, step: str) -> Object | None:
        """Return the newest pod of a step."""
        found = [one for one in self.member.pods() if f"-{step}-" in one["metadata"]["name"]]
        return max(found, key=lambda one: str(one["metadata"]["creationTimestamp"]), default=None)

    def runs(self, step: str) -> bool:
        pod = self.pod(step)
        return bool(pod and pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"])

    def held(self, step: str) -> bool:
        pod = self.pod(step)
        return bool(pod and {"name": "kueue.x-k8s.io/admission"} in pod["spec"].get("schedulingGates", []))

    def end(self, step: str) -> None:
        """End a step well, and tell so as its executor does."""
        from twin.team import end_pod

        pod = self.pod(step)
        assert pod
        metadata = pod["metadata"]
        workflow = metadata["labels"]["workflows.argoproj.io/workflow"]
        node = metadata["annotations"]["workflows.argoproj.io/node-id"]
        labels = {"workflows.argoproj.io/workflow": workflow, "workflows.argoproj.io/report-outputs-completed": "true"}
        account = f"system:serviceaccount:{self.member.team}:{pod['spec']['serviceAccountName']}"
        result = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "WorkflowTaskResult",
            "metadata": {"name": node, "namespace": self.member.team, "labels": labels},
        }
        assert self.api.create(result, by=(account, ("system:authenticated",)), dry=False) == (201, "")
        end_pod(self.api, pod)

    def told(self) -> str:
        pods = [
            (one["metadata"]["name"], one["spec"].get("schedulingGates"), one["status"]) for one in self.member.pods()
        ]
        return f"{self.status()}\n{pods}"


def wait(pipeline: Pipeline, what: str, check: Callable[[], object]) -> None:
    from twin.team import PATIENCE

    from generator.live.apiserver import tries

    if not any(check() for _ in tries(PATIENCE)):
        pytest.fail(f"{what}: not within {PATIENCE:g} s\n{pipeline.told()}")


def test_steps_start_through_the_queue_one_after_the_other(vision: "Member") -> None:
    from twin.team import eventually, most

    vision.prepare("others", pods=7, priority="low")
    one = Pipeline(vision, written())
    wait(one, "ingest runs", lambda: one.runs("ingest"))
    assert most(lambda: len(vision.pods()), 2) == 8, "one step at a time"
    one.end("ingest")
    wait(one, "train waits", lambda: one.held("train"))
    assert most(lambda: one.runs("train"), NEVER) == 0, "all that the team may have is taken"
    vision.complete("others")
    wait(one, "train runs", lambda: one.runs("train"))
    pod = one.pod("train")
    assert pod
    assert pod["spec"]["serviceAccountName"] == "pipeline"
    assert pod["spec"]["containers"][-1]["resources"]["limits"][GPU] == "8"

    urgent = vision
    urgent.start("urgent", 7, priority="urgent")
    urgent.runs("urgent", 7)
    wait(one, "train waits again", lambda: one.held("train"))
    urgent.complete("urgent")
    wait(one, "train runs again", lambda: one.runs("train"))
    one.end("train")
    wait(one, "evaluate runs", lambda: one.runs("evaluate"))
    one.end("evaluate")
    wait(one, "it ends", lambda: one.status().get("phase") == "Succeeded")
    eventually("nothing is held any more", lambda: not vision.workloads() or all(map(finished, vision.workloads())))


def finished(workload: Object) -> bool:
    conditions = workload.get("status", {}).get("conditions") or []
    return any(one["type"] == "Finished" and one["status"] == "True" for one in conditions)


def first(spec: Object) -> Object:
    """Return the template of the first step."""
    found: Object = spec["templates"][1]
    return found


REFUSED: dict[str, tuple[Callable[[Object], object], str]] = {
    "no queue": (lambda s: s.pop("podMetadata"), "put the label kueue.x-k8s.io/queue-name"),
    "no account": (lambda s: s.pop("serviceAccountName"), "say spec.serviceAccountName: pipeline"),
    "another account": (lambda s: s.update(serviceAccountName="default"), "leave every serviceAccountName out but"),
    "a step's account": (lambda s: first(s).update(serviceAccountName="default"), "leave every serviceAccountName out"),
    "the node's network": (lambda s: s.update(hostNetwork=True), "leave hostNetwork out"),
    "the platform's lock": (
        lambda s: first(s).update(synchronization={"mutexes": [{"name": "backup", "namespace": "rook-ceph"}]}),
        "leave the namespace of locks out",
    ),
    "the platform's metrics": (
        lambda s: s.update(metrics={"prometheus": [{"name": "x", "help": "x", "counter": {"value": "1"}}]}),
        "leave metrics out",
    ),
    "a step within": (
        lambda s: s["templates"][0]["dag"]["tasks"][0].update(inline={"container": {"image": "x"}}),
        "without inline",
    ),
    "a step within defaults": (
        lambda s: s.update(templateDefaults={"dag": {"tasks": [{"name": "x", "inline": {"container": {}}}]}}),
        "without inline",
    ),
}


def test_what_reaches_beyond_the_team_is_refused_at_once(vision: "Member") -> None:
    for name, (way, told) in REFUSED.items():
        *_, template, _ = changed(way)
        status, said = vision.submit(template)
        assert (status, told in said) == (422, True), (name, said)
    _, template, run = written()
    assert vision.submit(template) == (201, "")
    holder = {"holding": [{"mutex": "rook-ceph/Mutex/backup", "holder": "vision/x/x"}]}
    forms = {
        "leave the status": run | {"status": {"synchronization": {"mutex": holder}}},
        "leave ownerReferences": run | {"metadata": run["metadata"] | {"ownerReferences": [owner(vision)]}},
        "make a WorkflowTemplate of it": run | {"spec": template["spec"]},
    }
    for told, form in forms.items():
        status, said = vision.submit(form)
        assert (status, told in said) == (422, True), (told, said)
    result = {"apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowTaskResult", "metadata": {"name": "x"}}
    assert vision.submit(result)[0] == 403, "what became of a step is its executor's to tell"
    language = vision.__class__(vision.api, "language")
    assert language.submit(template)[0] == 403, "a team without pipelines"


def owner(member: "Member") -> Object:
    template = member.api.items(f"{GROUP}/{member.team}/workflowtemplates")[0]["metadata"]
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "name": template["name"],
        "uid": template["uid"],
        "controller": True,
    }


JUDGED: dict[str, tuple[Callable[[Object], object], str]] = {
    "no queue": (lambda s: s.pop("podMetadata"), ""),
    "another account": (lambda s: s.update(serviceAccountName="default"), "say serviceAccountName: pipeline"),
    "no account": (lambda s: s.pop("serviceAccountName"), "say serviceAccountName: pipeline"),
    "the node's network": (lambda s: s.update(hostNetwork=True), "violates PodSecurity"),
    "the node's network in a patch": (
        lambda s: s.update(podSpecPatch='{"hostNetwork": true}'),
        "violates PodSecurity",
    ),
    "as if let in": (
        lambda s: first(s).update(metadata={"labels": {"kueue.x-k8s.io/podset": "main"}}),
        "leave the label kueue.x-k8s.io/podset out",
    ),
    "as a part of a job": (
        lambda s: first(s).update(metadata={"annotations": {"kueue.x-k8s.io/workload": "job-x"}}),
        "leave the annotation kueue.x-k8s.io/workload out",
    ),
    "another scheduler for GPUs": (
        lambda s: s.update(schedulerName="default-scheduler"),
        "set schedulerName: volcano",
    ),
    "memory beyond its request": (
        lambda s: first(s)["container"]["resources"].update(requests={"memory": "1Mi"}),
        "give every container a limit for memory",
    ),
}
HELD = {form: way for form, (way, _) in JUDGED.items()}


def test_pods_do_not_get_round_the_queue_whatever_a_workflow_says(piped: "Twin", vision: "Member") -> None:
    """Without the policy that tells it at once, as where parameters hide it: the pods themselves are judged."""
    from twin.team import most

    vision.prepare("others", pods=7, priority="low")
    with piped.without("gen-workflows"):
        for number, form in enumerate(HELD):
            for one in attempt(f"form-{number}", HELD[form]):
                assert vision.submit(one) == (201, ""), form
        assert most(vision.running, NEVER) == 7
    found = {one["metadata"]["name"]: one.get("status", {}) for one in piped.api.items(f"{GROUP}/vision/workflows")}
    said = {form: str(found[f"form-{number}"]) for number, form in enumerate(HELD)}
    assert {form: told for form, (_, told) in JUDGED.items() if told not in said[form]} == {}, said
    pods = [one for one in vision.pods() if one["metadata"]["name"].startswith("form-")]
    gates = [one["spec"].get("schedulingGates", []) for one in pods]
    assert all({"name": "kueue.x-k8s.io/admission"} in each for each in gates)
    assert sorted(one["metadata"]["name"].rsplit("-ingest")[0] for one in pods) == ["form-0"], "the queue holds it"


def attempt(name: str, way: Callable[[Object], object]) -> Iterator[Object]:
    """Yield a template whose first step asks for a node's GPUs, and its run."""

    def more(spec: Object) -> None:
        spec.pop("synchronization", None)
        first(spec)["container"]["resources"]["limits"][GPU] = "8"
        way(spec)

    *_, template, run = changed(more)
    yield template | {"metadata": {"name": name}}
    yield run | {"metadata": {"name": name}, "spec": {"workflowTemplateRef": {"name": name}}}
