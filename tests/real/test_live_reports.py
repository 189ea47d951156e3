"""How operations ended, told to a webhook by the exit handler as rendered: the real workflow controller, real pods."""

import contextlib
import json
import re
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from auditing import audited, betrayed, stored, unused, written
from boardsamples import EXPORTERS
from heldnames import lacking
from messenger import TOKEN, Messenger, messenger
from msgspec import structs
from onenode.site import Gen, await_template, lighter
from operationtemplates import patched
from reference import decoded, load
from zabbixtold import argo as asked_by_zabbix

from generator.components import compose
from generator.components.component import Component, Operation, Tier
from generator.components.health_report import NAME as HEALTH
from generator.components.health_report import health_report
from generator.components.parts import UNPRIVILEGED, resources
from generator.components.python_steps import EXIT_MINUTES, IMAGE, at_exit
from generator.components.reports import reported
from generator.components.reports.metrics import FAILED, SUCCEEDED
from generator.components.reports.templates import workflow_templates
from generator.components.static import read_text
from generator.components.workflows.turns import AT_ONCE
from generator.live.apiserver import free_ports, tries
from generator.live.identity import record
from generator.model.cluster import Cluster
from generator.model.fields import dig, mapping
from generator.model.monitoring import Operations

if TYPE_CHECKING:
    from twin.plane import Plane

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
SPACE = "tried"
ACCOUNT, OF_STEPS = f"{SPACE}:operation-report", f"{SPACE}:tried"
OF_HEALTH = (f"{HEALTH}:{HEALTH}", f"{HEALTH}:operation-report")
ACCOUNTS = (ACCOUNT, OF_STEPS, *OF_HEALTH)
AT = f"/apis/argoproj.io/v1alpha1/namespaces/{SPACE}/workflows"
PASSWORD = "Zq8vT2xKm4Lw9Rb7Nc3D"
SCHEDULES = {"nightly-good": "work", "nightly-bad": "fail"}
STEP = f"""
import sys, time
sys.path.insert(0, "/scripts")
import api
def fail(_): raise api.Verdict("the disk of gpu-07 is full, password={PASSWORD}")
def sleep(_): time.sleep(600)
api.Api = lambda: None
sys.exit(api.run({{"fail": fail, "sleep": sleep, "work": lambda _: None}}))
"""


class Site(Gen):
    """The cluster, the messenger that it tells, and the port where monitoring reads."""

    def __init__(self, api: "Plane", folder: Path, heard: Messenger, port: int) -> None:
        super().__init__(api, folder)
        self.heard, self.port = heard, port

    def read(self) -> str:
        """Return what Prometheus reads."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            return str(answer.read().decode())

    def measured(self, metric: str, operation: str) -> float | None:
        """Return what Prometheus reads of an operation."""
        found = re.search(rf'^{metric}\{{operation="{operation}"[^}}]*\}} (\S+)$', self.read(), re.MULTILINE)
        return float(found[1]) if found else None

    def begin(self, operation: str, how: str, **spec: Any) -> str:
        """Begin a run as a person does, and return its name."""
        made = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"generateName": f"{operation}-", "namespace": SPACE},
            "spec": {
                "workflowTemplateRef": {"name": operation},
                "arguments": {"parameters": [{"name": "how", "value": how}]},
                **spec,
            },
        }
        status, answer = self.api.request("POST", AT, made)
        assert status == 201, answer
        return str(answer["metadata"]["name"])

    def ended(self, *runs: str) -> list[Object]:
        """Wait until runs have ended and return what became of them."""
        return [self.one_ended(run) for run in runs]

    def begin_plain(self, operation: str, space: str) -> str:
        """Begin a run of an operation that is told nothing, and return its name."""
        metadata = {"generateName": f"{operation}-", "namespace": space}
        spec = {"workflowTemplateRef": {"name": operation}}
        made = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}
        status, answer = self.api.request("POST", AT.replace(SPACE, space), made)
        assert status == 201, answer
        return str(answer["metadata"]["name"])

    def one_ended(self, run: str, space: str = SPACE) -> Object:
        for _ in tries(90):
            status: Object = (self.api.get(f"{AT.replace(SPACE, space)}/{run}") or {}).get("status", {})
            if status.get("finishedAt"):
                return status
        raise AssertionError(status)

    def stop(self, run: str) -> None:
        """Stop a run once its step is at work."""
        for _ in tries(60):
            nodes = ((self.api.get(f"{AT}/{run}") or {}).get("status") or {}).get("nodes") or {}
            if [one for one in nodes.values() if one["type"] == "Pod" and one["phase"] == "Running"]:
                break
        done = self.gen("stop", run, "--namespace", SPACE)
        assert done.returncode == 0, done.stderr

    def scheduled(self, schedule: str) -> list[str]:
        """Return the first run that a schedule began, once it did; no more are to come."""
        for _ in tries(90):
            names = (one["metadata"]["name"] for one in self.api.items(AT))
            if found := sorted(name for name in names if name.startswith(schedule)):
                return found[:1]
        raise AssertionError(f"{schedule} began nothing")

    def told(self, run: str) -> list[str]:
        """Return what the messenger took of a run."""
        return [text for text in self.heard.taken if f"logs {run} " in text]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    from onenode.argo import argo
    from onenode.node import node
    from onenode.simulated import load_python
    from twin.plane import plane

    cluster = telling(load("ml50"))
    with (
        tempfile.TemporaryDirectory(prefix="reports-", ignore_cleanup_errors=True) as name,
        contextlib.ExitStack() as stack,
    ):
        start, folder = stack.enter_context, Path(name)
        start(audited(folder, *ACCOUNTS))
        api = start(plane(folder, simulated=False))
        machine = start(node(api))
        load_python(machine)
        (port,) = free_ports(1)
        start(argo(api, machine, cluster, port, limits=False))
        made = Site(api, folder, start(messenger()), port)
        api.namespace(SPACE)
        api.apply(record(cluster))
        install(made, cluster)
        await_template(api, SPACE, "with-report")
        yield made


def telling(cluster: Cluster) -> Cluster:
    """Return the cluster whose operations tell Mattermost how they ended; no proxy leads to this machine."""
    monitoring = structs.replace(cluster.monitoring, operations=Operations(via="mattermost"))
    site = structs.replace(cluster.site, proxy=None)
    return structs.replace(cluster, monitoring=monitoring, site=site)


def install(site: Site, cluster: Cluster) -> None:
    """Apply two operations as gen would render them, one with an exit handler of its own."""
    templates = (operation("plain"), operation("with-report", onExit="report"))
    templates[0]["spec"]["metrics"] = {"prometheus": list(metrics_of_backups(cluster))}
    plain = Component(
        name="tried", tier=Tier.STORAGE, summary="", version="v1",
        operations=(Operation(name="tried", templates=templates),),
    )  # fmt: skip
    (made,) = reported(cluster, [plain])
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "tried", "namespace": SPACE}}
    (role, binding) = (json.loads(json.dumps(one)) for one in made.objects[1:3])
    for one in (role, binding):
        one["metadata"]["name"] = "tried"
    binding["roleRef"]["name"] = binding["subjects"][0]["name"] = "tried"
    scripts = {"api.py": read_text("node_operations/api.py.txt"), "step.py": STEP}
    metadata = {"name": "tried-scripts", "namespace": SPACE}
    shared = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": scripts}
    webhook(site, site.heard.url)
    for one in (account, role, binding, shared, *(each for each in made.objects if "cilium" not in each["apiVersion"])):
        site.api.apply(one)
    for template in workflow_templates(made):
        site.api.apply(lighter(patched(made, template)))
    for name, how in SCHEDULES.items():
        site.api.apply(cron_workflow(name, how))


def metrics_of_backups(cluster: Cluster) -> Iterator[Object]:
    """Yield what backups, drills and looks at GPUs tell, as rendered, but of one that is called as the run ends."""
    told = {}
    for template in (one for component in compose(cluster) for one in workflow_templates(component)):
        for metric in template["spec"].get("metrics", {}).get("prometheus", ()):
            if metric["name"].startswith(("backup_", "drill_", "gpu_care_")):
                told[metric["name"], metric["when"]] = metric
    for one in told.values():
        yield json.loads(json.dumps(one).replace("{{workflow.parameters.name}}", "{{workflow.parameters.how}}"))


def cron_workflow(name: str, how: str) -> Object:
    """Return a schedule of every minute."""
    arguments = {"parameters": [{"name": "how", "value": how}]}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "schedules": ["* * * * *"],
            # One run each is enough.
            "stopStrategy": {"expression": "cronworkflow.succeeded + cronworkflow.failed >= 1"},
            "concurrencyPolicy": "Forbid",
            "workflowSpec": {"workflowTemplateRef": {"name": "plain"}, "arguments": arguments},
        },
    }


def webhook(site: Site, url: str, space: str = SPACE) -> None:
    """Let the Secret say where the webhook is."""
    metadata = {"name": "operation-report", "namespace": space}
    site.api.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"url": url}})


def operation(name: str, **more: str) -> Object:
    """Return a template with a step that does as it is told."""
    step = {
        "name": "step",
        "container": {
            "image": IMAGE,
            "command": ["python3", "-B", "/scripts/step.py"],
            "args": ["{{workflow.parameters.how}}"],
            "resources": resources("50m", "64Mi", "128Mi"),
            "securityContext": UNPRIVILEGED,
            "volumeMounts": [{"name": "scripts", "mountPath": "/scripts"}],
            "env": [],
        },
    }
    report = {**step, "name": "report", "container": {**step["container"], "args": ["fail"]}}  # type: ignore[dict-item]
    spec = {
        "entrypoint": "whole",
        **more,
        "serviceAccountName": "tried",
        "arguments": {"parameters": [{"name": "how"}]},
        "volumes": [{"name": "scripts", "configMap": {"name": "tried-scripts"}}],
        "templates": [
            {"name": "whole", "steps": [[{"name": "step", "template": "step"}]]},
            step,
            *([report] if more else []),
        ],
    }
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": at_exit(spec) if more else spec,
    }


def test_who_is_told_of_what(site: Site) -> None:
    """What people began, each once, however it ended; and the verdicts stay."""
    good, bad, late = site.begin("plain", "work"), site.begin("plain", "fail"), site.begin("plain", "sleep")
    long = site.begin("plain", "sleep", activeDeadlineSeconds=5)
    site.stop(late)
    ends = [one["phase"] for one in site.ended(good, bad, late, long)]
    assert ends == ["Succeeded", "Failed", "Failed", "Failed"]
    assert [len(site.told(one)) for one in (good, bad, late, long)] == [1, 1, 1, 1]
    (said,) = site.told(bad)
    assert said.startswith(":x: plain on ml50 failed after ")
    assert "step step: `the disk of gpu-07 is full, password***`" in said
    assert f"`gen workflow retry {bad} --namespace {SPACE} --cluster ml50`" in said
    assert site.told(good)[0].startswith(":white_check_mark: plain on ml50 succeeded after ")
    assert site.told(late)[0].startswith(":x: plain on ml50 was stopped after ")
    assert "deadline" in site.told(long)[0]


def test_a_run_that_somebody_suspended_is_stopped(site: Site) -> None:
    run = site.begin("plain", "work", suspend=True)
    done = site.gen("stop", run, "--namespace", SPACE)
    assert done.returncode == 0, done.stderr
    assert site.one_ended(run)["phase"] == "Failed"


def test_monitoring_is_told_when_runs_ended_well_and_when_not(site: Site) -> None:
    """Of an end, not of a beginning: a run that is stopped has slept for a while."""
    (good,) = site.ended(site.begin("plain", "work"))
    late = site.begin("plain", "sleep")
    begun = time.time()
    site.stop(late)
    (stopped,) = site.ended(late)
    for end, metric in ((good, SUCCEEDED), (stopped, FAILED)):
        ended = datetime.fromisoformat(end["finishedAt"]).timestamp()
        assert ended - 5 <= (site.measured(metric, "plain") or 0) <= ended + 1
    assert (site.measured(FAILED, "plain") or 0) > begun
    assert site.measured(FAILED, "nobody") is None


def test_argo_workflows_tells_what_is_asked(site: Site) -> None:
    """What dashboards, alerts and Zabbix ask for, also of a pod for which no node has room."""
    large = operation("large")
    large["spec"]["templates"][1]["container"]["resources"] = resources("1000", "64Mi", "128Mi")
    site.api.apply(large)
    await_template(site.api, SPACE, "large")
    waiting = site.begin("large", "work")
    site.ended(site.begin("plain", "work"), site.begin("plain", "fail"))
    asked = EXPORTERS["argo"].text + asked_by_zabbix()
    for _ in tries(90):
        if not (missing := lacking(asked, site.read())):
            break
    site.gen("stop", waiting, "--now", "--namespace", SPACE)
    assert missing == set()


def test_a_webhook_that_is_away_changes_no_verdict(site: Site) -> None:
    run = site.begin("plain", "work")
    site.heard.refused = run
    assert site.one_ended(run)["phase"] == "Succeeded"
    assert site.told(run) == []
    logs = site.gen("logs", run, "--namespace", SPACE).stdout
    assert "nobody is told: 127.0.0.1 answered 400 invalid_payload" in logs, logs


def test_a_handler_that_was_there_runs_as_before(site: Site) -> None:
    """This one fails, and with it a run that went well: that is so without a messenger, too."""
    run = site.begin("with-report", "work")
    status = site.one_ended(run)
    assert status["phase"] == "Failed"
    names = {one["displayName"]: one["phase"] for one in status["nodes"].values()}
    tries = (names["report"], names["report-again"])
    assert (*tries, names["exit-message"]) == ("Failed", "Failed", "Succeeded")
    assert len(site.told(run)) == 1


def test_a_handler_whose_pod_no_node_takes_comes_to_an_end(site: Site) -> None:
    """And with it the run, which holds its locks until then. The controller looks again where something changes."""
    made = operation("lost-report", onExit="report")
    (report,) = [one for one in made["spec"]["templates"] if one["name"] == "report"]
    assert report.pop("timeout") == f"{EXIT_MINUTES // 4}m"
    report["timeout"] = "20s"
    report["container"]["resources"] = resources("1000", "64Mi", "128Mi")
    site.api.apply(made)
    await_template(site.api, SPACE, "lost-report")
    run = site.begin("lost-report", "work")
    for _ in tries(90):
        something = {"metadata": {"annotations": {"looked": str(time.time())}}}
        site.api.request("PATCH", f"{AT}/{run}", something, patch="merge-patch+json")
        status: Object = (site.api.get(f"{AT}/{run}") or {}).get("status", {})
        if status.get("finishedAt"):
            break
    assert status["phase"] == "Failed", status
    assert any("timeout" in one.get("message", "") for one in status["nodes"].values())


def every_cluster() -> dict[str, Cluster]:
    """Return the reference clusters, and others with what none of these has."""
    clusters = {name: load(name) for name in ("ml50", "a30-bench", "gpu-serving")}
    beside = ("volume-backup", "backup-elsewhere", "backup-nfs", "backup-here-and-elsewhere", "volume-backup-elsewhere")
    return clusters | {name: decoded(f"tests/wrong/valid/{name}.yaml") for name in (*beside, "fleet")}


def test_the_controller_takes_every_operation(site: Site) -> None:
    """The definition, and what the controller checks when a run begins."""
    for name, cluster in every_cluster().items():
        components = compose(telling(cluster))
        turns = turns_of(site, [one for component in components for one in component.objects])
        for component in components:
            for template in workflow_templates(component):
                one = patched(component, template)
                one["metadata"] |= {"namespace": SPACE, "name": f"{name}-{template['metadata']['name']}"}
                site.api.apply(one)
                status = judged(site, one, turns)
                assert status["phase"] == "Running", f"{one['metadata']['name']}: {status.get('message')}"


def test_the_controller_refuses_an_operation_with_a_step_that_is_not_there(site: Site) -> None:
    """That what is above can fail."""
    one = operation("wrong")
    one["metadata"] |= {"namespace": SPACE, "name": "wrong"}
    one["spec"]["entrypoint"] = "nowhere"
    site.api.apply(one)
    status = judged(site, one, {})
    assert status["phase"] == "Failed"
    assert "nowhere" in status["message"]


def test_the_report_of_health_is_told_as_its_first_step_wrote_it(site: Site) -> None:
    """Of a cluster with one node of fifty, and nothing that Argo CD brought. The pod that tells reads no cluster."""
    cluster = telling(load("ml50"))
    (made,) = reported(cluster, [health_report(cluster)])
    site.api.namespace(HEALTH)
    webhook(site, site.heard.url, HEALTH)
    for one in (*made.base, *made.objects):
        if one["kind"] not in {"WorkflowTemplate", "CronWorkflow", "CiliumNetworkPolicy"}:
            site.api.apply(one)
    (template,) = workflow_templates(made)
    site.api.apply(lighter(patched(made, template)))
    await_template(site.api, HEALTH, HEALTH)
    run = site.begin_plain(HEALTH, HEALTH)
    assert site.one_ended(run, HEALTH)["phase"] == "Succeeded"
    (said,) = [text for text in site.heard.taken if "need somebody" in text]
    assert "*now*  Argo CD has no Application of ml50" in said
    assert "*soon*  in the cluster file, and not joined: cp-1, cp-2, cp-3 and 47 more" in said
    assert "etcd " in said
    kept = site.api.get(f"/api/v1/namespaces/{HEALTH}/configmaps/{HEALTH}")
    assert kept
    assert said.splitlines()[0].endswith(kept["data"]["report.txt"].splitlines()[0])
    assert TOKEN not in json.dumps(kept)
    again = site.begin_plain(HEALTH, HEALTH)
    assert site.one_ended(again, HEALTH)["phase"] == "Succeeded"
    assert unused(site.api, site.folder, *OF_HEALTH) == set(), "what Argo's executor asks is among it"


def test_a_schedule_tells_only_what_failed(site: Site) -> None:
    """The schedules were made with all else: a minute has passed meanwhile."""
    runs = [run for name in SCHEDULES for run in site.scheduled(name)]
    assert [one["phase"] for one in site.ended(*runs)] == ["Succeeded", "Failed"]
    assert [len(site.told(run)) for run in runs] == [0, 1]


def turns_of(site: Site, objects: list[Object]) -> dict[str, str]:
    """Lay down how many backups of a cluster run at once, and return the parameters that name the turn of one."""
    for one in objects:
        if one["kind"] == "ConfigMap" and one["metadata"]["name"] == AT_ONCE:
            site.api.namespace(one["metadata"]["namespace"])
            site.api.apply(one)
            return {"turn": next(iter(one["data"])), "turns-in": one["metadata"]["namespace"]}
    return {}


def given(parameter: Object, known: dict[str, str]) -> str:
    """Return what a parameter may be: its default where it has one."""
    allowed = (*parameter.get("enum", ()), "[]")
    return str(parameter.get("value", known.get(parameter["name"], allowed[0])))


def judged(site: Site, template: Object, known: dict[str, str]) -> Object:
    """Begin a run that waits before its first step, and return its status once the controller has judged it. Before
    that it may wait for its turn, and a template that was just made may not be known yet.
    """
    name = template["metadata"]["name"]
    asked = template["spec"].get("arguments", {}).get("parameters", ())
    made = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "workflowTemplateRef": {"name": name},
            "suspend": True,
            "arguments": {"parameters": [{"name": one["name"], "value": given(one, known)} for one in asked]},
        },
    }
    for _ in tries(180):
        assert site.api.request("POST", AT, made)[0] == 201
        for _ in tries(15):
            status = mapping(dig(site.api.get(f"{AT}/{name}"), "status"))
            waits = status.get("phase", "Pending") in {"", "Pending"}
            if not waits:
                break
        site.api.request("DELETE", f"{AT}/{name}")
        # The controller looks first at those that were deleted before it began them, one each time it is told of any.
        if not waits and f'"{name}" not found' not in status.get("message", ""):
            break
        time.sleep(0.2)
    return status


def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others."""
    assert unused(site.api, site.folder, ACCOUNT) == set()


def test_no_secret_is_told(site: Site) -> None:
    """After all others: the webhook's address in nothing that is kept, asked or printed, by whomever it is told, and a
    password in no message.
    """
    places = [*stored(site.api), *written(site.folder)]
    for where, words in ((f"pod-logs/{SPACE}_", "nobody is told"), (f"pod-logs/{HEALTH}_", " "), ("audit.log", HEALTH)):
        assert any(where in place and words in text for place, text in places), where
    assert betrayed(places, [TOKEN]) == []
    assert site.heard.taken
    assert not [text for text in site.heard.taken if PASSWORD in text]
