"""Whom Alertmanager tells, on Debian's own Alertmanager and a messenger's stand-in.

The operator makes the configuration of the AlertmanagerConfig; here `configuration` does, after its source (v0.93.1:
`pkg/alertmanager/amcfg.go`). Times are shorter.
"""

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from loopback import serving
from messenger import TOKEN, Messenger, messenger
from msgspec import structs
from ports import free_port
from reference import load
from test_prometheus_rules import judge

from generator.components.kube_prometheus_stack import told
from generator.model.cluster import Cluster
from generator.model.monitoring import Alert
from generator.model.site import Proxy
from tools import program

pytestmark = pytest.mark.real

FASTER = {"30s": "1s", "5m": "2s", "1m": "1s", "4m": "2s", "1800s": "10s"}
ON_CALL, LEADS, LOST = (
    Alert(via="slack", channel="#on-call"),
    Alert(via="mattermost", channel="ops/#leads", severity="high", after="30m"),
    Alert(via="slack", channel="#lost", severity="disaster"),
)


def telling(proxy: str = "", **settings: Any) -> Cluster:
    """Return a reference cluster that tells these channels."""
    cluster = load("gpu-serving")
    assert cluster.monitoring.prometheus
    known = {"alerts": (ON_CALL, LEADS, LOST), "mattermost": "https://chat.example.org", **settings}
    prometheus = structs.replace(cluster.monitoring.prometheus, **known)
    site = structs.replace(cluster.site, proxy=Proxy(http=proxy, no_proxy=()) if proxy else None)
    return structs.replace(cluster, site=site, monitoring=structs.replace(cluster.monitoring, prometheus=prometheus))


def configuration(cluster: Cluster, secret: dict[str, str]) -> dict[str, Any]:
    """Return what the operator makes of the cluster's AlertmanagerConfig and the Secret."""
    assert cluster.monitoring.prometheus
    made = told.configuration(cluster, cluster.monitoring.prometheus)
    spaced = f"{made['metadata']['namespace']}/{made['metadata']['name']}/"

    def matchers(rows: list[dict[str, str]]) -> list[str]:
        return [f'{row["name"]}{row["matchType"]}"{row["value"]}"' for row in rows]

    def changed(value: Any, key: str = "") -> Any:
        if key in ("matchers", "sourceMatch", "targetMatch"):
            return matchers(value)
        if key == "apiURL":
            return secret[value["key"]].strip()
        if key == "receiver":
            return spaced + value
        if isinstance(value, dict):
            names = {"sourceMatch": "source_matchers", "targetMatch": "target_matchers", "apiURL": "api_url"}
            return {names.get(each) or snake(each): changed(one, each) for each, one in value.items()}
        return [changed(one) for one in value] if isinstance(value, list) else value

    spec: dict[str, Any] = changed(made["spec"])
    for receiver in spec["receivers"]:
        receiver["name"] = spaced + receiver["name"]
    return spec


def snake(name: str) -> str:
    return re.sub("[A-Z]+", lambda one: f"_{one[0].lower()}", name)


def sooner(value: Any, key: str = "") -> Any:
    """Return a configuration with shorter times."""
    if isinstance(value, dict):
        return {each: sooner(one, each) for each, one in value.items()}
    if isinstance(value, list):
        return [sooner(one) for one in value]
    return FASTER.get(value, value) if key in ("group_wait", "group_interval", "repeat_interval") else value


def written(tmp_path: Path, made: dict[str, Any]) -> Path:
    """Write a configuration that the program's own check accepts: JSON is YAML."""
    file = tmp_path / "alertmanager.yml"
    file.write_text(json.dumps(made))
    checked = [program("amtool"), "check-config", str(file)]
    ran = subprocess.run(checked, check=False, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return file


class Running(NamedTuple):
    """An Alertmanager that answers."""

    url: str
    log: Path

    def fire(self, *alerts: dict[str, str], over: bool = False) -> None:
        """Send alerts by their labels as Prometheus does, with its own label of the cluster."""
        ends = {"endsAt": "2026-01-01T00:00:01Z"} if over else {}
        body = [
            {
                "labels": {**one, "cluster": "gpu-serving"},
                "annotations": {"summary": f"{one.get('pod') or one['alertname']} is not well"},
                "startsAt": "2026-01-01T00:00:00Z" if over else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                **ends,
            }
            for one in alerts
        ]
        headers = {"Content-Type": "application/json"}
        sent = urllib.request.Request(f"{self.url}/api/v2/alerts", json.dumps(body).encode(), headers)
        urllib.request.urlopen(sent, timeout=10).close()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return str(answer.read().decode())


@contextmanager
def running(tmp_path: Path, made: dict[str, Any]) -> Iterator[Running]:
    """Run the real program on loopback alone until the block ends."""
    file = written(tmp_path, made)
    at = f"127.0.0.1:{free_port()}"
    flags = [f"--web.listen-address={at}", f"--config.file={file}", "--cluster.listen-address=", "--log.level=debug"]
    found = Running(f"http://{at}", tmp_path / "log")
    with found.log.open("w") as log:
        command = [program("prometheus-alertmanager"), *flags, f"--storage.path={tmp_path / 'data'}"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        awaited(lambda: answers(found))
        yield found
    finally:
        process.terminate()
        process.wait(30)


def answers(found: Running) -> bool:
    try:
        found.get("/-/ready")
    except OSError:
        return False
    return True


def awaited(seen: Callable[[], Any], seconds: float = 60) -> Any:
    """Return what is seen at last. Fails where it is not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := seen():
            return found
        time.sleep(0.1)
    pytest.fail("waited in vain")


def hooks(at: Messenger) -> dict[str, str]:
    """Return the Secret: one channel's server is away."""
    away = f"http://127.0.0.1:{free_port()}/services/{TOKEN}"
    return {"slack.on-call": f"{at.url}/1\n", "mattermost.ops.leads": f"{at.url}/2", "slack.lost": away}


def titles(at: Messenger, channel: int) -> list[str]:
    """Return the first lines of what came to a channel."""
    return [text.splitlines()[0] for path, text in list(at.sent) if path.endswith(f"/{channel}")]


def alert(name: str, severity: str, **labels: str) -> dict[str, str]:
    return {"alertname": name, "severity": severity, **labels}


QUOTA = [alert("TeamPodFailed", "warning", namespace="speech", pod=f"train-{number}") for number in range(12)]
FIRST = [
    *QUOTA,
    # Of one GPU the worst, of another what there is.
    alert("GPUFault", "critical", node="gpu-1", gpu="0"),
    alert("GPUFault", "warning", node="gpu-1", gpu="0"),
    alert("GPUFault", "warning", node="gpu-2", gpu="0"),
    alert("GPUHot", "warning", node="gpu-1", gpu="0"),
    alert("GPUHot", "warning", node="gpu-1", gpu="1"),
    alert("OSDsFull", "critical", device_class="nvme"),
    alert("OSDsNearlyFull", "warning", device_class="nvme"),
    # Of another pod of the namespace nothing is known that is worse.
    alert("PodSlow", "critical", namespace="search", pod="serve-2"),
    alert("PodSlow", "warning", namespace="search", pod="serve-2"),
    alert("PodSlow", "warning", namespace="search", pod="serve-3"),
    # A node that is down, and what comes of it.
    alert("KubeNodeNotReady", "warning", node="gpu-3"),
    alert("KubeNodeUnreachable", "warning", node="gpu-3"),
    alert("PodOnLostNode", "none", namespace="search", pod="serve-1", node="gpu-3"),
    alert("DaemonSetOnLostNode", "none", namespace="log-collector", daemonset="alloy"),
    alert("TargetOnLostNode", "none", namespace="kube-system", job="kubelet", service="kubelet"),
    alert("KubePodNotReady", "warning", namespace="search", pod="serve-1"),
    alert("KubeDaemonSetRolloutStuck", "warning", namespace="log-collector", daemonset="alloy"),
    alert("TargetDown", "warning", namespace="kube-system", job="kubelet", service="kubelet"),
    alert("KubeletInstanceUnreachable", "warning", namespace="kube-system", node="gpu-3"),
    # One that is down as well, and cordoned: the chart does not call it not ready.
    alert("PodOnLostNode", "none", namespace="log-collector", pod="alloy-7", node="gpu-4"),
    alert("KubeNodeUnreachable", "warning", node="gpu-4"),
    alert("KubeNodeReadinessFlapping", "warning", node="gpu-4"),
    alert("LogsNotCollected", "warning", node="gpu-4"),
    # What is on no such node.
    alert("KubeDaemonSetRolloutStuck", "warning", namespace="gpu-operator", daemonset="alloy"),
    alert("TargetDown", "warning", namespace="kube-system", job="coredns", service="coredns"),
    alert("KubePodNotReady", "warning", namespace="speech", pod="serve-1"),
    alert("JobsWait", "page", cluster_queue="speech"),
    alert("Throttled", "info", namespace="speech"),
]
TOLD = {
    ":x: warning TeamPodFailed in speech of gpu-serving",
    ":x: critical GPUFault on gpu-1 of gpu-serving",
    ":x: warning GPUFault on gpu-2 of gpu-serving",
    ":x: warning GPUHot on gpu-1 of gpu-serving",
    ":x: critical OSDsFull of gpu-serving",
    ":x: critical PodSlow in search of gpu-serving",
    ":x: warning PodSlow in search of gpu-serving",
    ":x: warning KubeNodeNotReady on gpu-3 of gpu-serving",
    ":x: warning KubePodNotReady in speech of gpu-serving",
    ":x: warning KubeNodeUnreachable on gpu-4 of gpu-serving",
    ":x: warning KubeNodeReadinessFlapping on gpu-4 of gpu-serving",
    ":x: warning KubeDaemonSetRolloutStuck in gpu-operator of gpu-serving",
    ":x: warning TargetDown in kube-system of gpu-serving",
    ":x: page JobsWait in queue speech of gpu-serving",
}


def test_channels_are_told_of_what_is_theirs(tmp_path: Path) -> None:
    with messenger() as at, running(tmp_path, sooner(configuration(telling(), hooks(at)))) as manager:
        brief = alert("BriefOutage", "critical", node="gpu-9")
        manager.fire(*FIRST, brief)
        awaited(lambda: set(titles(at, 1)) >= TOLD | {":x: critical BriefOutage on gpu-9 of gpu-serving"})
        manager.fire(brief, over=True)
        # Late, and what is over by then not at all.
        critical = {title for title in TOLD if "critical" in title}
        awaited(lambda: set(titles(at, 2)) >= critical)
        assert sorted(titles(at, 2)) == sorted(critical)
        # One message for what is alike, with ten of it; nothing beside that is held.
        (grouped,) = [text for _, text in at.sent if "TeamPodFailed" in text]
        assert (grouped.count("• train-"), grouped.splitlines()[-1]) == (10, "12 in all")
        (other,) = [text for path, text in at.sent if "warning PodSlow" in text and path.endswith("/1")]
        assert ("serve-3" in other, "serve-2" in other) == (True, False)
        over = ":white_check_mark: over: BriefOutage on gpu-9 of gpu-serving"
        awaited(lambda: over in titles(at, 1))
        assert {*titles(at, 1)} == {*TOLD, over, ":x: critical BriefOutage on gpu-9 of gpu-serving"}
        # The server that is away is named in the log, and no address of a webhook anywhere.
        awaited(lambda: "connection refused" in manager.log.read_text())
        shown = manager.log.read_text() + manager.get("/api/v2/status") + "".join(text for _, text in at.sent)
        assert TOKEN not in shown
        assert "<secret>" in shown


def test_the_heart_beats_outside_as_long_as_prometheus_fires(tmp_path: Path) -> None:
    beats: list[str] = []

    def outside(request: Any) -> tuple[int, dict[str, str], bytes]:
        beats.append(f"{request.method} {request.path} {request.body['status']}")
        return 200, {}, b""

    with serving(outside) as url, messenger() as at:
        cluster = telling(heartbeat=f"{url}/ping/gpu-serving")
        with running(tmp_path, sooner(configuration(cluster, hooks(at)))) as manager:
            watchdog = alert("Watchdog", "none")
            manager.fire(watchdog)
            awaited(lambda: len(beats) >= 3)
            manager.fire(watchdog, over=True)
            time.sleep(3)
            counted = len(beats)
            time.sleep(3.5)
            assert (len(beats), set(beats), at.sent) == (counted, {"POST /ping/gpu-serving firing"}, [])


def test_the_site_s_proxy_leads_out(tmp_path: Path) -> None:
    """Debian's program does not know yet what is reached without it."""
    with messenger() as at:
        cluster = telling(proxy=at.url.removesuffix(f"/services/{TOKEN}"))
        outside = {name: f"http://chat.example.org/{name}" for name in hooks(at)}
        text = json.dumps(sooner(configuration(cluster, outside)))
        made = json.loads(re.sub(r', "no_proxy": "[^"]*"', "", text))
        with running(tmp_path, made) as manager:
            manager.fire(FIRST[0])
            assert awaited(lambda: [path for path, _ in at.sent]) == ["http://chat.example.org/slack.on-call"]


MARKED = {
    "PodOnLostNode": (
        {"namespace": "search", "pod": "serve-1", "node": "gpu-3"},
        {"namespace": "logs", "pod": "alloy-3", "node": "gpu-3"},
    ),
    "DaemonSetOnLostNode": ({"namespace": "logs", "daemonset": "alloy"},),
    "TargetOnLostNode": (
        {"namespace": "kube-system", "job": "kubelet", "service": "kubelet"},
        {"namespace": "logs", "job": "alloy"},
    ),
}


@pytest.mark.parametrize(("ready", "fires"), [("1+0x10", ()), ("0+0x10", (*MARKED,)), ("1x5 0+0x5", (*MARKED,))])
def test_what_is_on_a_node_that_is_down_is_marked(tmp_path: Path, ready: str, fires: tuple[str, ...]) -> None:
    """As kube-state-metrics 2 tells of nodes and pods; a pod that waits has no node. Prometheus knows a kubelet by its
    node, and what answers from a pod by that.
    """
    state, daemon = 'job="kube-state-metrics"', 'created_by_kind="DaemonSet",created_by_name'
    info, replica = f"kube_pod_info{{{state},namespace", 'created_by_kind="ReplicaSet",created_by_name'
    found = {
        f'{info}="search",pod="serve-1",node="gpu-3",uid="1",{replica}="s"}}': "1x10",
        f'{info}="search",pod="serve-2",node="gpu-4",uid="2"}}': "1x10",
        f'{info}="search",pod="serve-3",node="",uid="3"}}': "1x10",
        f'{info}="logs",pod="alloy-3",node="gpu-3",uid="4",{daemon}="alloy"}}': "1x10",
        f'{info}="logs",pod="alloy-4",node="gpu-4",uid="5",{daemon}="alloy"}}': "1x10",
        f'{info}="logs",pod="other-4",node="gpu-4",uid="6",{daemon}="other"}}': "1x10",
        'up{job="kubelet",namespace="kube-system",service="kubelet",node="gpu-3"}': "0x10",
        'up{job="kubelet",namespace="kube-system",service="kubelet",node="gpu-4"}': "1x10",
        'up{job="alloy",namespace="logs",pod="alloy-3"}': "0x10",
        'up{job="serve",namespace="search",service="serve",pod="serve-1"}': "1x10",
        'up{job="other",namespace="logs",service="other",pod="other-4",node="gpu-4"}': "0x10",
        'up{job="outside"}': "0x10",
        f'kube_node_status_condition{{{state},node="gpu-3",condition="Ready",status="true"}}': ready,
        f'kube_node_status_condition{{{state},node="gpu-4",condition="Ready",status="true"}}': "1x10",
    }
    asked = [
        {"alertname": name, "eval_time": "10m", "exp_alerts": [*map(marked, labels)] if name in fires else []}
        for name, labels in MARKED.items()
    ]
    series = [{"series": name, "values": values} for name, values in found.items()]
    test = {"interval": "1m", "input_series": series, "alert_rule_test": asked}
    judge(tmp_path, told.lost_pods("monitoring")["spec"], test)


def marked(labels: dict[str, str]) -> dict[str, Any]:
    summary = (
        f"Pod {labels['pod']} of {labels['namespace']} is on gpu-3, which is down"
        if "pod" in labels
        else f"DaemonSet {labels['daemonset']} of {labels['namespace']} has pods on nodes that are down"
        if "daemonset" in labels
        else f"Prometheus reads {labels['job']} of {labels['namespace']} on nodes that are down"
    )
    return {"exp_labels": {"severity": "none", **labels}, "exp_annotations": {"summary": summary}}
