"""How an operation ended, told by the script to a messenger on loopback; and what each operation is given for it."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from exported import exported
from messenger import TOKEN, Answer, Messenger, messenger
from msgspec import structs
from operationtemplates import telling
from reference import load, without_operations

from generator.components import compose
from generator.components.component import Component
from generator.components.kube_prometheus_stack.alerts import operations_failed
from generator.components.kube_prometheus_stack.watched import monitors, rules
from generator.components.reports.exit_handler import operations
from generator.components.reports.metrics import FAILED as FAILURE
from generator.components.reports.metrics import SCHEDULED, SUCCEEDED
from generator.components.reports.objects import NAME
from generator.components.reports.templates import workflow_templates
from generator.components.static import read_text
from generator.components.volsync.drills import workflow_template as drill_template
from generator.components.zabbix.hosts import services
from generator.components.zabbix.templates.kubernetes import BACKUPS
from generator.layout.emit import emit
from generator.model.cluster import Cluster
from generator.model.monitoring import Operations, Prometheus
from generator.model.site import Proxy

REFERENCES = ("ml50", "a30-bench", "gpu-serving")
FAILED = [
    {"displayName": "backup-1", "message": "child 'backup-1-7' failed", "finishedAt": "2026-11-23T12:00:09Z"},
    {"displayName": "mirror", "message": "No more retries left", "finishedAt": "2026-11-23T12:00:08Z"},
    {
        "displayName": "mirror(0)",
        "message": "main: Error (exit code 1): MinIO is away",
        "finishedAt": "2026-11-23T12:00:01Z",
    },
    {
        "displayName": "mirror(1)",
        "message": "main: Error (exit code 2): 3 objects differ",
        "finishedAt": "2026-11-23T12:00:07Z",
    },
]


class Pod:
    """The script with what its pod has."""

    def __init__(self, folder: Path, heard: Messenger) -> None:
        self.folder, self.heard = folder, heard
        self.settings: dict[str, Any] = {"cluster": "ml50", "via": "mattermost", "proxy": {}}
        self.url = f"{heard.url}\n"
        (folder / "report.py").write_text(read_text("reports/report.py.txt"))

    def run(self, status: str = "Failed", failed: object = FAILED, **more: str) -> "subprocess.CompletedProcess[str]":
        """Tell how a run ended; Argo quotes the list of what failed twice."""
        (self.folder / "settings.json").write_text(json.dumps(self.settings))
        (self.folder / "url").write_text(self.url)
        env = {
            "PATH": os.environ["PATH"],
            "SETTINGS": str(self.folder),
            "WEBHOOK": str(self.folder / "url"),
            "OPERATION": "backup",
            "RUN": "backup-1",
            "SPACE": "rook-ceph",
            "STATUS": status,
            "SECONDS": "754.3",
            "FAILURES": json.dumps(json.dumps(failed)),
            **more,
        }
        command = [sys.executable, "-B", str(self.folder / "report.py")]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert TOKEN not in done.stdout + done.stderr, "the address is a secret"
        assert "Traceback" not in done.stderr, done.stderr
        return done


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    with messenger() as heard:
        yield Pod(tmp_path, heard)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("report")
    (folder / "report_script.py").write_text(read_text("reports/report.py.txt"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield import_module("report_script")
        sys.modules.pop("report_script", None)


def test_a_failure_is_told_with_the_words_of_the_step_that_caused_it(pod: Pod) -> None:
    assert pod.run().returncode == 0
    (said,) = pod.heard.taken
    assert said.splitlines() == [
        ":x: backup on ml50 failed after 12 min",
        "step mirror: `3 objects differ`",
        "`gen workflow logs backup-1 --namespace rook-ceph --cluster ml50`",
        "once it is mended: `gen workflow retry backup-1 --namespace rook-ceph --cluster ml50`",
    ]


def test_a_success_and_a_stop_are_told_as_what_they_are(pod: Pod) -> None:
    stop = [{"displayName": "mirror", "message": "workflow shutdown with strategy:  Stop", "finishedAt": ""}]
    assert (pod.run("Succeeded", None).returncode, pod.run("Failed", stop).returncode) == (0, 0)
    good, stopped = pod.heard.taken
    assert good.startswith(":white_check_mark: backup on ml50 succeeded after 12 min\n`gen workflow logs")
    assert stopped.startswith(":x: backup on ml50 was stopped after 12 min\nstep mirror: ")


@pytest.mark.parametrize(
    ("via", "text"), [("mattermost", "a < b & `<!here>`"), ("slack", "a &lt; b &amp; `&lt;!here&gt;`")]
)
def test_what_an_operation_found_is_told_as_it_is(pod: Pod, via: str, text: str) -> None:
    pod.settings["via"] = via
    done = pod.run(TEXT="a < b & `<!here>`\nsecond line")
    assert (done.returncode, pod.heard.taken) == (0, [f"{text}\nsecond line"])


@pytest.mark.parametrize("failed", ["", "[{", '"[{\\"displayName\\": \\"mir', "{}", "null", "7"])
def test_a_list_that_nobody_can_read_leaves_the_rest(pod: Pod, failed: str) -> None:
    assert pod.run(FAILURES=failed).returncode == 0
    assert len(pod.heard.taken) == 1


def test_what_is_refused_is_not_sent_again_and_the_log_says_why(pod: Pod) -> None:
    pod.heard.answers = [Answer(400, "invalid_payload")]
    done = pod.run()
    assert (done.returncode, len(pod.heard.sent)) == (1, 1)
    assert done.stderr == "nobody is told: 127.0.0.1 answered 400 invalid_payload\n"


def test_an_answer_is_not_passed_on_where_it_may_hold_the_address(pod: Pod) -> None:
    pod.heard.answers = [Answer(404, f'{{"message": "no hook {TOKEN}"}}')]
    assert pod.run().stderr == "nobody is told: 127.0.0.1 answered 404\n"


def test_who_asks_for_a_pause_gets_it(pod: Pod) -> None:
    pod.heard.answers = [Answer(429, "rate_limited", {"Retry-After": "1"})]
    begun = time.monotonic()
    done = pod.run()
    assert (done.returncode, len(pod.heard.taken)) == (0, 1)
    assert time.monotonic() - begun >= 1
    assert done.stderr == "127.0.0.1 answered 429 rate_limited: tried again in 1 s\n"


def test_a_pause_beyond_its_patience_is_not_waited_for(pod: Pod) -> None:
    pod.heard.answers = [Answer(429, "rate_limited", {"Retry-After": "3600"})]
    assert (pod.run().returncode, len(pod.heard.sent)) == (1, 1)


def test_one_that_hangs_is_left(pod: Pod) -> None:
    pod.heard.answers = [Answer(200, "ok", wait=20)]
    done = pod.run(ANSWER="0.3", PATIENCE="1")
    assert done.returncode == 1
    assert done.stderr == "nobody is told: 127.0.0.1 did not answer (TimeoutError)\n"


def test_nothing_is_sent_to_where_it_is_led(pod: Pod) -> None:
    pod.heard.answers = [Answer(302, "", {"Location": f"{pod.heard.url}/elsewhere"})]
    assert pod.run().returncode == 1
    assert [text for _, text in pod.heard.sent if text == "followed"] == []


def test_nobody_there_and_no_address_are_told_in_the_log(pod: Pod) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        pod.url = f"http://127.0.0.1:{taken.getsockname()[1]}/services/{TOKEN}"
        away = pod.run(PATIENCE="1")
    assert (away.returncode, away.stderr) == (1, "nobody is told: 127.0.0.1 did not answer (ConnectionRefusedError)\n")
    for url, why in (("", "has no `url` here"), (f"file:///{TOKEN}", "is no address of HTTP"), (TOKEN, "of HTTP")):
        pod.url = url
        done = pod.run()
        assert (done.returncode, why in done.stderr) == (1, True), done.stderr


def test_the_proxy_is_taken_but_for_what_is_reached_directly(pod: Pod) -> None:
    """The proxy is the messenger: what goes through it names the whole address."""
    pod.url = f"http://hooks.example.com/services/{TOKEN}"
    proxy = pod.heard.url.partition("/services")[0]
    pod.settings["proxy"] = {
        "HTTP_PROXY": proxy,
        "HTTPS_PROXY": proxy,
        "NO_PROXY": "127.0.0.1,.lab.example.org,10.0.0.0/8",
    }
    assert pod.run().returncode == 0
    assert pod.heard.sent[0][0] == pod.url


@pytest.mark.parametrize(
    ("host", "known", "direct"),
    [
        ("chat.lab.example.org", ".lab.example.org", True),
        ("chat.example.org", "chat.example.org", True),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("evillab.example.org", "lab.example.org", False),
        ("chat.example.org", "10.0.0.0/8", False),
    ],
)
def test_what_is_reached_directly(script: Any, host: str, known: str, direct: object) -> None:
    assert script.reached(host, known) is direct


@pytest.mark.parametrize(
    ("words", "hidden"),
    [
        ("mc: cannot reach https://root:hunter2x@minio.svc:9000", "hunter2x"),
        ("login failed, password=s3cretword99 for zabbix", "s3cretword99"),
        ("token: 0f3a-77bc-19 refused", "0f3a-77bc-19"),
        ("Authorization: Bearer eyJhbGciOiJSUzI1NiIs.eyJzdWIiOiJ4.abc", "eyJhbGciOiJSUzI1NiIs"),
        (f"https://hooks.slack.com/services/{TOKEN} is gone", TOKEN),
        ("https://chat.example.org/hooks/8s7d6f5g4h3j2k1l", "8s7d6f5g4h3j2k1l"),
        ("AKIAIOSFODNN7EXAMPLE is unknown", "AKIAIOSFODNN7EXAMPLE"),
        ("wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc", "abc"),
    ],
)
def test_no_secret_of_a_message_is_passed_on(script: Any, words: str, hidden: str) -> None:
    assert hidden not in script.quoted(f"main: Error (exit code 1): {words}", "mattermost")


@pytest.mark.parametrize(
    "words",
    [
        "node gpu-07 has 2 pods that do not leave: team-a/train-worker-3, team-b/ray-head-x7k2p",
        "the source shrank by more than 20 %: 1000 objects, 12 now",
        "rook-ceph-object-user-datasets-datasets-backup-reader is not accepted",
        "backup-datasets-1763899200: no key may write to datasets-backup",
        "sha256 4f5a6b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192 differs",
    ],
)
def test_words_without_a_secret_stay(script: Any, words: str) -> None:
    assert script.quoted(words, "mattermost") == f"`{words}`"


def test_nobody_is_called_by_what_a_step_says(script: Any) -> None:
    assert script.quoted("<!channel> a & b `@all`", "slack") == "`&lt;!channel&gt; a &amp; b '@all'`"
    assert len(script.quoted("long " * 200, "mattermost")) == 302


@pytest.mark.parametrize(
    ("seconds", "told"),
    [("0", "0 s"), ("119.4", "119 s"), ("120", "2 min"), ("7200", "2 h"), ("172800", "2 d"), ("", "some time")],
)
def test_how_long_it_took(script: Any, seconds: str, told: str) -> None:
    assert script.lasted(seconds) == told


@pytest.mark.parametrize(("word", "code"), [("trouble", 1), ("verdict", 2)])
def test_a_shell_step_leaves_why_it_failed_where_kubelet_reads_it(tmp_path: Path, word: str, code: int) -> None:
    """Only where that file is: no other one is made, and nothing of it changes the exit code."""
    (tmp_path / "client.sh").write_text(read_text("workflows/client.sh"))
    words = tmp_path / "words"
    command = ["bash", "-c", f"set -euo pipefail; source {tmp_path}/client.sh; {word} '100 % of 한글' is full"]
    env = {"PATH": os.environ["PATH"], "termination_log": str(words)}
    assert subprocess.run(command, env=env, check=False, capture_output=True).returncode == code
    assert not words.exists()
    words.touch()
    assert subprocess.run(command, env=env, check=False, capture_output=True).returncode == code
    assert words.read_text() == "100 % of 한글 is full"


def with_operations(cluster: Cluster) -> list[Component]:
    return [one for one in compose(cluster) if [*workflow_templates(one)]]


@pytest.mark.parametrize("name", REFERENCES[:2])
def test_every_operation_has_one_handler_and_what_its_pod_needs(name: str) -> None:
    there: set[str] = set()
    for component in with_operations(telling(name)):
        there |= {one["metadata"]["namespace"] for one in component.objects if one["metadata"]["name"] == NAME}
        handled = [one.target for one in component.patches if one.operations[0]["path"] == "/spec/onExit"]
        for template in workflow_templates(component):
            at = template["metadata"]
            assert [one for one in handled if (one["name"], one["namespace"]) == (at["name"], at["namespace"])], at
            assert at["namespace"] in there, "its account, script and policy come before it, or with it"
    assert there


@pytest.mark.parametrize("name", REFERENCES)
def test_without_a_messenger_nothing_is_added(name: str) -> None:
    cluster = load(name)
    silent = structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, operations=None))
    assert NAME not in "".join(
        emit([*one.objects, *(each.operations for each in one.patches)]) for one in compose(silent)
    )


def test_a_handler_that_is_there_is_kept_beside_the_message() -> None:
    template = {"metadata": {"name": "one"}, "spec": {"onExit": "report"}}
    _, handler, pod = operations(Operations(via="slack"), template)
    ((report, message),) = handler["value"]["steps"]
    assert report == {"name": "report", "template": "report"}
    assert message["continueOn"] == {"failed": True, "error": True}
    assert pod["value"]["activeDeadlineSeconds"] == 300
    assert pod["value"]["metadata"]["labels"] == {"app.kubernetes.io/name": NAME}


def test_a_success_of_a_schedule_is_told_where_all_is() -> None:
    template: dict[str, Any] = {"metadata": {"name": "one"}, "spec": {}}

    def condition(settings: Operations) -> object:
        return operations(settings, template)[1]["value"]["steps"][0][0].get("when")

    assert condition(Operations(via="slack", tell="all")) is None
    assert "Succeeded" in str(condition(Operations(via="slack")))


def policy(cluster: Cluster) -> dict[str, Any]:
    one = with_operations(cluster)[0]
    (found,) = [each for each in one.objects if each["metadata"]["name"] == NAME and each["kind"] == "NetworkPolicy"]
    return dict(found["spec"])


def test_a_pod_reaches_the_messenger_and_nothing_of_the_cluster() -> None:
    spec = policy(telling())
    *_, out = spec["egress"]
    assert [one["port"] for one in out["ports"]] == [8065]
    assert out["to"][0]["ipBlock"]["except"] == ["10.244.0.0/16", "10.96.0.0/12"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in spec
    assert [one["port"] for one in policy(telling(via="slack", mattermost=None))["egress"][-1]["ports"]] == [443]


def test_a_proxy_is_reached_as_well() -> None:
    cluster = telling()
    cluster = structs.replace(
        cluster, site=structs.replace(cluster.site, proxy=Proxy(http="http://proxy.example.org:3128"))
    )
    assert [one["port"] for one in policy(cluster)["egress"][-1]["ports"]] == [3128, 8065]


def test_the_address_is_one_secret_with_copies_and_stands_nowhere_else() -> None:
    components = compose(telling())
    secrets = [one for each in components for one in each.secrets if one.name == NAME]
    assert [one.copy_of for one in secrets if one.copy_of is None] == [None]
    assert {one.copy_of for one in secrets[1:]} == {f"{secrets[0].namespace}/{NAME}"}
    assert all(one.keys == ("url",) for one in secrets)


@pytest.mark.parametrize("name", REFERENCES)
def test_every_operation_tells_monitoring_how_it_ended(name: str) -> None:
    """With a messenger or without one, each by its own name, beside what it told before."""
    for cluster in (load(name), telling(name)):
        for template in (one for component in compose(cluster) for one in workflow_templates(component)):
            told = template["spec"]["metrics"]["prometheus"]
            ends = {f"argo_workflows_{one['name']}": one for one in told[-2:]}
            assert [*ends] == [SUCCEEDED, FAILURE]
            assert {one["labels"][0]["value"] for one in ends.values()} == {template["metadata"]["name"]}
            assert {one["when"] for one in ends.values()} == {
                "{{workflow.status}} == Succeeded",
                "{{workflow.status}} != Succeeded",
            }
            assert not [one for one in told[:-2] if f"argo_workflows_{one['name']}" in ends]


def test_what_has_alerts_of_its_own_runs_on_a_schedule(ml50: Cluster) -> None:
    """What people begin has no other alert, and neither has the report, which somebody misses on a Monday."""
    objects = [one for cluster in (ml50, exported(ml50)) for each in compose(cluster) for one in each.objects]
    schedules = [one["spec"]["workflowSpec"] for one in objects if one["kind"] == "CronWorkflow"]
    of_volumes = drill_template("image")["metadata"]["name"]
    assert {one["workflowTemplateRef"]["name"] for one in schedules} | {of_volumes} == {*SCHEDULED, "health-report"}


def test_one_system_alerts_of_operations_that_failed(ml50: Cluster) -> None:
    both = structs.replace(ml50, monitoring=structs.replace(ml50.monitoring, prometheus=Prometheus()))
    alone = structs.replace(both, monitoring=structs.replace(both.monitoring, zabbix=None))
    found = {len([one for one in rules(each) if one["metadata"]["name"] == "operations"]) for each in (both, alone)}
    assert found == {0, 1}
    assert {"name": BACKUPS} in services(both)["templates"]
    assert operations_failed(without_operations(load("gpu-serving")), "monitoring") is None


@pytest.mark.parametrize("of", ["acceptance", "mlperf"])
def test_where_only_some_operations_are_their_ends_are_read(of: str) -> None:
    """Of Prometheus and Zabbix."""
    section = getattr(load({"mlperf": "a30-bench", "acceptance": "ml50"}[of]), of)
    cluster = structs.replace(without_operations(load("gpu-serving")), **{of: section})
    assert "argo-workflows" in [one["metadata"]["name"] for one in monitors(cluster)]
    assert {"name": BACKUPS} in services(cluster)["templates"]
