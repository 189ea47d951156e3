"""The report of health and capacity: what it says of a cluster that is well, and of each thing that is not."""

import json
import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import healthsite as site
import pytest

from generator.components.health_report.template import FILES, scripts

MODULES = [name.removesuffix(".py") for name in FILES]


class Report:
    """The scripts, on a cluster and a Prometheus, and what they leave."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, answers: site.Answers) -> None:
        self.folder, self.patch, self.answers = folder, patch, answers
        self.cluster, self.facts, self.now = site.Cluster(), deepcopy(site.FACTS), site.NOW
        self.modules = SimpleNamespace(**{name: import_module(name) for name in MODULES})
        self.url = answers.url
        self.end = "2027-06-01T00:00:00Z"

    def look(self) -> str:
        """Report, and return the message."""
        told = self.folder / "facts.json"
        told.write_text(json.dumps(self.facts))
        self.patch.setenv("TOLD", str(self.folder))
        self.patch.setenv("PROMETHEUS", self.url)
        main = self.modules.health_report
        self.patch.setattr(main, "FACTS", told)
        self.patch.setattr(main, "now", lambda: self.now)
        self.patch.setattr(
            self.modules.installed, "server_certificate", lambda _: self.modules.reading.moment(self.end)
        )
        main.look(self.cluster)
        return (self.folder / "message").read_text()

    def needs(self) -> list[str]:
        """Report, and return what needs somebody."""
        self.look()
        return [f"{one['when']} {one['words']}" for one in self.data["needs"]]

    @property
    def data(self) -> dict[str, Any]:
        assert self.cluster.kept
        return dict(json.loads(self.cluster.kept["data"]["report.json"]))

    @property
    def text(self) -> str:
        assert self.cluster.kept
        return str(self.cluster.kept["data"]["report.txt"])


@pytest.fixture(scope="module")
def answering() -> Iterator[site.Answers]:
    with site.prometheus() as answers:
        yield answers


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answering: site.Answers) -> Iterator[Report]:
    for name, text in scripts()["data"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    fresh = site.Answers()
    answering.of, answering.refused, answering.asked = fresh.of, {}, []
    yield Report(tmp_path, monkeypatch, answering)
    for name in MODULES:
        sys.modules.pop(name, None)


def test_all_is_well_in_three_lines(report: Report) -> None:
    lines = report.look().splitlines()
    assert lines[0] == ":white_check_mark: ml50 is well: nothing needs anybody"
    assert lines[1].startswith("Ceph 40 % of 100 TiB, growth not known yet; MinIO 50 % of 700 TiB, 85 % in 245 days")
    assert "etcd 12 % of 8.0 GiB" in lines[1]
    assert "jsonpath='{.data.report\\.txt}'`" in lines[2]
    assert len(lines) == 3
    assert "2 pools" not in report.text
    assert "pool rbd-nvme 25 % of 40.0 TiB, 85 % in 240 days by the last 28 days" in report.text
    assert report.data["needs"] == report.data["notKnown"] == report.data["notHere"] == []


def node(report: Report, name: str) -> dict[str, Any]:
    return next(one for one in report.cluster.lists[site.NODES] if one["metadata"]["name"] == name)


def test_a_node_that_is_away_is_told_once(report: Report) -> None:
    """The pods that DaemonSets lack there, and the GPUs that it would offer, are told with it or by their own words."""
    node(report, "cpu-1")["status"]["conditions"] = site.ready(
        "Unknown", message="Kubelet stopped posting node status."
    )
    report.cluster.lists[f"{site.APPS}/daemonsets"] = [site.workload("DaemonSet", "rook-ceph", "csi-rbdplugin", 4, 3)]
    assert report.needs() == ["now node cpu-1 is not ready for 3 days: `Kubelet stopped posting node status.`"]
    report.cluster.lists[f"{site.APPS}/daemonsets"] = [site.workload("DaemonSet", "rook-ceph", "csi-rbdplugin", 4, 2)]
    assert report.needs()[1:] == ["soon namespace rook-ceph: daemonset csi-rbdplugin has 2 of 4 pods ready"]


def test_nodes_that_are_held_absent_sick_or_unknown(report: Report) -> None:
    held, sick = node(report, "cpu-1"), node(report, "gpu-1")
    held["spec"]["unschedulable"] = True
    held["metadata"]["annotations"] = {"gen.internal/cordoned-by": "node-maintenance"}
    sick["metadata"]["annotations"] = {"gen.internal/gpu-sick": '{"what": ["Xid 79"]}'}
    node(report, "gpu-2")["metadata"]["name"] = "gpu-9"
    node(report, "cp-1")["status"]["conditions"] += [
        site.condition("DiskPressure", "True", message="full"),
        site.condition("CertificatesEndSoon", "True", message="the first ends on 2026-12-01"),
        site.condition("RebootPending", "True", message="a new kernel"),
        site.condition("MemoryPressure", "False"),
    ]
    waiting = site.condition("RebootPending", "True", message="a new kernel", lastTransitionTime="2026-11-01T00:00:00Z")
    sick["status"]["conditions"].append(waiting)
    assert report.needs() == [
        "soon node cp-1 has DiskPressure: `full`",
        "soon node cp-1 has CertificatesEndSoon: `the first ends on 2026-12-01`",
        "soon node cpu-1 is held: the operation `node-maintenance` cordoned it",
        "soon node gpu-1 has RebootPending: `a new kernel`",
        'soon node gpu-1 has a sick GPU: `{"what": ["Xid 79"]}`',
        "soon in the cluster file, and not joined: gpu-2",
        "soon joined, and not in the cluster file: gpu-9",
    ]


def test_what_is_urgent_comes_first_then_the_rest_in_a_line_each(report: Report) -> None:
    node(report, "cpu-1")["spec"]["unschedulable"] = True
    report.cluster.lists[f"{site.APPS}/statefulsets"] = [site.workload("StatefulSet", "minio", "minio", 4, 0)]
    lines = report.look().splitlines()
    assert lines[:3] == [
        ":warning: ml50: 2 things need somebody",
        "*now*  namespace minio: statefulset minio has 0 of 4 pods ready",
        "*soon*  node cpu-1 is held: somebody cordoned it",
    ]
    assert "Argo CD: 2 Applications, all Synced and Healthy" in lines
    assert "workloads: 3 in 2 namespaces, 1 of them without all their pods" in lines
    assert "kubectl --namespace minio get pods" in report.text


def test_workloads_of_teams_and_of_nobody_are_theirs(report: Report) -> None:
    report.cluster.lists[f"{site.APPS}/deployments"] += [site.workload("Deployment", "default", "mine", 2, 0)]
    tenants = site.application("tenants", "argocd")
    tenants["status"]["resources"] = [{"kind": "ResourceQuota", "namespace": "vision", "name": "quota"}]
    report.cluster.lists[site.APPLICATIONS].append(tenants)
    assert report.needs() == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sync": {"status": "OutOfSync"}}, ["soon Application minio: OutOfSync, last brought 3 days ago"]),
        (
            {"health": {"status": "Degraded", "lastTransitionTime": "2026-11-22T07:00:00Z", "message": "no quorum"}},
            ["now Application minio: Degraded for 24 hours: `no quorum`"],
        ),
        ({"health": {"status": "Progressing", "lastTransitionTime": "2026-11-23T06:50:00Z"}}, []),
        (
            {"health": {"status": "Progressing", "lastTransitionTime": "2026-11-23T02:00:00Z"}},
            ["soon Application minio: Progressing for 5 hours"],
        ),
        (
            {"operationState": {"phase": "Failed", "message": "one or more objects failed to apply"}},
            ["soon Application minio: its last sync failed: `one or more objects failed to apply`"],
        ),
    ],
)
def test_applications(report: Report, change: dict[str, Any], said: list[str]) -> None:
    report.cluster.lists[site.APPLICATIONS][0]["status"] |= change
    assert report.needs() == said


def test_a_cluster_without_applications_is_not_well(report: Report) -> None:
    report.cluster.lists[site.APPLICATIONS] = []
    assert report.needs()[0] == "now Argo CD has no Application of ml50"


@pytest.mark.parametrize(
    ("ends", "renewal", "state", "said"),
    [
        ("2026-12-10T00:00:00Z", "2026-12-01T00:00:00Z", "True", []),
        (
            "2026-12-10T07:00:00Z",
            "2026-11-10T07:00:00Z",
            "True",
            ["soon certificate minio/minio-tls was not renewed in time, it ends in 17 days"],
        ),
        (
            "2026-11-24T07:00:00Z",
            "2026-10-24T07:00:00Z",
            "False",
            ["now certificate minio/minio-tls is not ready, it ends in 1 day: `the issuer is away`"],
        ),
        (
            "2026-11-20T07:00:00Z",
            "2026-10-24T07:00:00Z",
            "True",
            ["now certificate minio/minio-tls was not renewed in time, it has ended"],
        ),
    ],
)
def test_certificates(report: Report, ends: str, renewal: str, state: str, said: list[str]) -> None:
    made = site.certificate("minio-tls", ends, renewal)
    made["status"]["conditions"] = site.ready(state, message="the issuer is away")
    report.cluster.lists[site.CERTIFICATES] = [made]
    assert report.needs() == said


def test_the_control_planes_certificates(report: Report) -> None:
    report.end = "2026-12-03T07:00:00Z"
    (said,) = report.needs()
    assert said.startswith("soon the API server's certificate ends on 2026-12-03, in 10 days")


def test_ceph_that_warns_and_ceph_that_nobody_looks_at(report: Report) -> None:
    status = report.cluster.lists[site.CEPH][0]["status"]["ceph"]
    status |= {"health": "HEALTH_WARN", "details": {"OSD_DOWN": {"message": "1 osds down", "severity": "HEALTH_WARN"}}}
    assert report.needs() == ["soon Ceph is HEALTH_WARN: OSD_DOWN: `1 osds down`"]
    status["health"] = "HEALTH_ERR"
    assert report.needs() == ["now Ceph is HEALTH_ERR: OSD_DOWN: `1 osds down`"]
    status["lastChecked"] = "2026-11-22T07:00:00Z"
    assert report.needs() == ["now Rook last looked at Ceph 24 hours ago, when it was HEALTH_ERR"]


def test_backups_and_drills_that_are_late_failed_or_never_worked(report: Report) -> None:
    backup, drill, _ = report.cluster.lists[site.WORKFLOWS]
    failed = site.workflow(
        "backup-datasets-2", "backup", "2026-11-23T05:00:00Z", "Failed", **backup["metadata"]["labels"]
    )
    report.cluster.lists[site.WORKFLOWS] = [backup, failed, drill]
    said = "backup datasets: its last run failed: `exit code 2: the disk is full`; the good one before is 14 hours old"
    assert report.needs() == [f"soon {said}"]
    backup["metadata"]["creationTimestamp"] = "2026-11-19T17:00:00Z"
    drill["metadata"]["creationTimestamp"] = "2026-10-19T17:00:00Z"
    report.cluster.lists[site.WORKFLOWS] = [backup, drill]
    report.cluster.lists[site.VOLUMES] = []
    assert report.needs() == [
        "now backup datasets: its last good run is 4 days old, and it should run by `0 17 * * *`",
        "now backup models: no run that is still known was good",
        "soon drill datasets: its last good run is 35 days old, and it should run by `30 5 * * 0`",
    ]
    for one in report.facts["backups"]:
        one["suspended"] = True
    assert report.needs() == []
    assert "backup datasets is suspended in the cluster file" in report.text


def test_a_good_run_that_is_kept_no_more_is_known_by_prometheus_or_by_nobody(report: Report) -> None:
    report.cluster.lists[site.WORKFLOWS] = []
    monthly = {"schedule": "0 3 1 * *", "tooOld": 62 * 86400}
    report.facts["backups"] = [{**report.facts["backups"][0], **monthly}]
    assert report.needs() == []
    why = "its good runs are kept for 7 days, and it runs by `0 3 1 * *`"
    assert report.data["notKnown"] == [f"backup datasets: {why}"]
    metric = "max by (backup) (max_over_time(argo_workflows_backup"
    report.answers.of[metric] = [({"backup": "datasets"}, 0)]
    report.look()
    assert report.data["notKnown"] == [f"backup datasets: {why}"], "0 is one that never was"
    report.answers.of[metric] = [({"backup": "datasets"}, 1793502000)]
    assert report.needs() == []
    assert "last good: backup datasets 22 days ago" in report.text
    report.facts["backups"][0]["tooOld"] = 7 * 86400
    assert report.needs() == ["now backup datasets: its last good run is 22 days old, and it should run by `0 3 1 * *`"]


def test_what_a_team_runs_is_no_backup_whatever_its_labels_say(report: Report) -> None:
    backup, *_ = report.cluster.lists[site.WORKFLOWS]
    backup["metadata"]["namespace"] = "vision"
    assert report.needs() == ["now backup datasets: no run that is still known was good"]


def test_operations_that_failed_this_week(report: Report) -> None:
    runs = report.cluster.lists[site.WORKFLOWS]
    runs += [
        site.workflow("node-removal-1", "node-removal", "2026-11-18T07:00:00Z", "Failed"),
        site.workflow("node-removal-2", "node-removal", "2026-11-19T07:00:00Z", "Failed"),
        site.workflow("acceptance-1", "acceptance", "2026-11-18T07:00:00Z", "Failed"),
        site.workflow("acceptance-2", "acceptance", "2026-11-19T07:00:00Z"),
        site.workflow("mlperf-1", "mlperf", "2026-11-11T07:00:00Z", "Failed"),
    ]
    team = site.workflow("train-1", "", "2026-11-22T07:00:00Z", "Failed")
    team["metadata"]["namespace"] = "vision"
    runs.append(team)
    said = "operation node-removal failed 2 times this week, at last: `exit code 2: the disk is full`"
    assert report.needs() == [f"soon {said}"]
    assert "1 operation failed this week and went well since" in report.text
    assert "gen workflow logs node-removal-2 --namespace argo" in report.text


def test_an_operation_that_took_weeks_failed_when_it_ended(report: Report) -> None:
    long = site.workflow("driver-upgrade-1", "driver-upgrade", "2026-11-10T07:00:00Z", "Failed")
    long["status"]["finishedAt"] = "2026-11-22T07:00:00Z"
    report.cluster.lists[site.WORKFLOWS].append(long)
    said = "operation driver-upgrade failed this week, at last: `exit code 2: the disk is full`"
    assert report.needs() == [f"soon {said}"]
    long["status"]["finishedAt"] = "2026-11-11T07:00:00Z"
    assert report.needs() == []


def test_alerts_that_fire(report: Report) -> None:
    report.answers.of["ALERTS"] = [
        ({"alertname": "KubePodCrashLooping", "severity": "warning", "namespace": "shop", "pod": str(number)}, 1)
        for number in range(2)
    ] + [
        ({"alertname": "CephHealthError", "severity": "critical"}, 1),
        ({"alertname": "Watchdog", "severity": "none"}, 1),
        ({"alertname": "InfoInhibitor", "severity": "none"}, 1),
    ]
    assert report.needs() == [
        "now the alert CephHealthError fires",
        "soon the alert KubePodCrashLooping (2) fires at shop",
    ]


def test_minio_queues_and_claims(report: Report) -> None:
    report.answers.of["max(minio_cluster_nodes_offline_total)"] = [({}, 2)]
    report.answers.of["max(minio_cluster_drive_offline_total)"] = [({}, 16)]
    claim = {"namespace": "vision", "persistentvolumeclaim": "models"}
    report.answers.of["max by (namespace, persistentvolumeclaim)"] = [(claim, 0.9), ({**claim, "namespace": "a"}, 0.2)]
    state = {"type": "Active", "status": "False", "message": "references missing ResourceFlavor(s): gpus"}
    report.cluster.lists[site.QUEUES][0]["status"]["conditions"] = [state]
    assert report.needs() == [
        "now MinIO lacks 2 servers and 16 drives",
        "now queue vision lets no job in: `references missing ResourceFlavor(s): gpus`",
        "soon claim vision/models is 90 % full",
    ]


def test_more_gpus_promised_than_nodes_offer(report: Report) -> None:
    node(report, "gpu-2")["status"]["allocatable"]["nvidia.com/gpu"] = "6"
    assert report.needs() == ["soon teams are promised 16 of 14 nvidia.com/gpu of gpus that ready nodes offer"]


def test_hardly_a_place_for_pods_or_nodes(report: Report) -> None:
    node(report, "cpu-1")["status"]["allocatable"]["pods"] = "5"
    report.facts["slices"] = 4
    assert report.needs() == [
        "soon node cpu-1 has 5 pods of 5",
        "soon the pod network has room for 4 nodes, and 4 are there",
    ]
    report.facts |= {"slices": 0, "addresses": 8}
    node(report, "cpu-1")["status"]["allocatable"]["pods"] = "110"
    assert report.needs() == ["soon node cpu-1 has 5 pods of 4"]


def test_room_of_what_backups_keep(report: Report) -> None:
    report.facts["room"] = [{"backup": "datasets", "needs": 400 * site.TIB, "takes": 300 * site.TIB}]
    report.facts["usable"] = 350 * site.TIB
    assert report.needs() == [
        "soon backup datasets keeps up to 400 TiB, and its bucket takes 300 TiB",
        "soon backups keep up to 400 TiB, and MinIO has 350 TiB",
    ]


@pytest.mark.parametrize(
    ("free", "slope", "said"),
    [
        (350, 1, []),
        (100, 1, ["now room: MinIO 86 % of 700 TiB"]),
        (200, 5, ["soon room: MinIO 71 % of 700 TiB, 85 % in 19 days by the last 28 days"]),
        (200, 50, ["now room: MinIO 71 % of 700 TiB, 85 % in 2 days by the last 28 days"]),
        (200, 0, []),
        (200, -5, []),
    ],
)
def test_room_that_ends(report: Report, free: int, slope: int, said: list[str]) -> None:
    report.answers.of["max(minio_cluster_capacity_usable_free_bytes)"] = [({}, free * site.TIB)]
    report.answers.of["deriv((max(minio"] = [({}, slope * site.TIB / 86400)]
    assert report.needs() == said


def test_a_minio_without_capacity_is_not_called_full(report: Report) -> None:
    report.answers.of["max(minio_cluster_capacity_usable_total_bytes)"] = [({}, 0)]
    assert report.needs() == []
    assert "MinIO tells no capacity" in report.data["notKnown"][0]


def test_a_pool_ends_at_its_quota(report: Report) -> None:
    report.answers.of["ceph_pool_quota_bytes"] = [({"pool_id": "2"}, 11 * site.TIB)]
    assert report.needs() == ["now room: pool rbd-nvme 91 % of 11.0 TiB"]


def test_growth_since_former_reports_where_prometheus_has_none(report: Report) -> None:
    report.url = ""
    status = report.cluster.lists[site.CEPH][0]["status"]["ceph"]
    for day, used in (("02", 50), ("09", 60), ("16", 70), ("23", 80)):
        status["capacity"]["bytesUsed"] = used * site.TIB
        status["lastChecked"] = report.now = f"2026-11-{day}T07:00:00Z"
        lines = report.look().splitlines()
    assert "*now*  room: Ceph 80 % of 100 TiB, 85 % in 4 days by the last 21 days" in lines
    assert len(json.loads(report.cluster.kept["data"]["history.json"])) == 4  # type: ignore[index]


def test_a_growth_of_two_days_is_none(report: Report) -> None:
    report.answers.of["count_over_time((max(minio"] = [({}, 40)]
    report.look()
    assert "MinIO 50 % of 700 TiB, growth not known yet" in report.text


@pytest.mark.parametrize(
    "text", ["{", "7", '{"a": 1}', '[7, {"at": 1}, {"at": "2026-11-16T07:00:00Z", "rooms": {"Ceph": "much"}}]']
)
def test_a_history_that_somebody_wrote_is_none(report: Report, text: str) -> None:
    report.look()
    assert report.cluster.kept
    report.cluster.kept["data"]["history.json"] = text
    assert report.needs() == []
    assert len(json.loads(report.cluster.kept["data"]["history.json"])) == 1


def test_what_cannot_be_read_is_said_and_hides_nothing_else(report: Report) -> None:
    api = report.modules.api
    report.cluster.refused = {site.CERTIFICATES: api.Verdict("GET certificates: forbidden")}
    report.cluster.lists[site.QUEUES] = [{"metadata": {"name": "odd"}, "spec": {"resourceGroups": [7]}}]
    report.answers.refused["ALERTS"] = (503, "away")
    node(report, "cpu-1")["spec"]["unschedulable"] = True
    lines = report.look().splitlines()
    assert lines[0] == ":warning: ml50: 2 things need somebody, 3 could not be read"
    assert "*not known*  certificates: GET certificates: forbidden" in lines
    assert "*not known*  alerts: Prometheus answers 503 Service Unavailable" in lines
    assert any(one.startswith("*not known*  GPUs of teams: it has a form that is not known") for one in lines)


def test_a_prometheus_that_is_away_is_asked_once(report: Report) -> None:
    report.url = "http://127.0.0.1:9"
    asked: list[str] = []
    answer = report.modules.reading.Prometheus.answer

    def counted(self: object, query: str) -> object:
        asked.append(query)
        return answer(self, query)

    report.patch.setattr(report.modules.reading.Prometheus, "answer", counted)
    lines = report.look().splitlines()
    assert len(asked) == 1
    assert lines[0] == ":grey_question: ml50: of what could be read nothing needs anybody, 5 could not be read"
    away = [one for one in lines if "Prometheus does not answer" in one]
    assert [one.split("  ")[1].partition(":")[0] for one in away] == [
        "room of Ceph's pools", "room of MinIO", "MinIO's servers", "alerts", "claims",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["<html>", '{"data": 7}', '{"data": {"result": [{"metric": {}}]}}'])
def test_a_prometheus_that_is_none(report: Report, text: str) -> None:
    report.answers.refused["ALERTS"] = (200, text)
    report.look()
    assert len(report.data["notKnown"]) == 1


def test_a_series_that_is_absent_is_not_taken_for_none(report: Report) -> None:
    report.answers.of |= {"max(minio_cluster_nodes_offline_total)": [], "ceph_pool_stored": []}
    report.look()
    assert report.data["notKnown"] == [
        "room of Ceph's pools: Prometheus has nothing of ceph_pool_stored",
        "MinIO's servers: Prometheus has nothing of max(minio_cluster_nodes_offline_total)",
    ]


def test_without_prometheus_by_the_cluster_file_three_lines_say_what_nobody_knows(report: Report) -> None:
    report.url, report.facts["zabbix"] = "", True
    lines = report.look().splitlines()
    assert len(lines) == 3
    assert lines[0] == ":white_check_mark: ml50 is well: nothing needs anybody"
    unknown = "room of Ceph's pools; room of MinIO; MinIO's servers; alerts; claims"
    assert lines[2].startswith(f"nothing here knows: {unknown}; all of it: `kubectl")
    assert "alerts: Zabbix tells them, and is not asked" in report.text


def test_a_small_cluster_has_none_of_what_it_lacks(report: Report) -> None:
    report.url = ""
    report.facts |= {
        "ceph": False,
        "objects": False,
        "backups": [],
        "room": [],
        "usable": 0,
        "slices": 0,
        "addresses": 0,
    }
    for path in (site.CEPH, site.QUEUES, site.FLAVORS, site.VOLUMES):
        del report.cluster.lists[path]
    lines = report.look().splitlines()
    assert lines[0] == ":white_check_mark: ml50 is well: nothing needs anybody"
    assert lines[1] == "etcd 12 % of 8.0 GiB, growth not known yet"


def test_an_api_server_that_is_away_ends_the_run(report: Report) -> None:
    report.cluster.refused = {site.NODES: report.modules.api.Away("the API server does not answer")}
    with pytest.raises(report.modules.api.Away):
        report.look()
    assert report.cluster.kept is None


def test_words_of_others_call_nobody_fill_in_nothing_and_tell_no_secret(report: Report) -> None:
    words = (
        "@channel <!here> `@all` {{workflow.parameters.x}} {{=1+1}} token=Zq8vT2xKm4Lw9Rb7Nc3D\nsecond " + "long " * 90
    )
    node(report, "cpu-1")["status"]["conditions"] = site.ready("False", message=words)
    message = report.look()
    (line,) = [one for one in message.splitlines() if "cpu-1 is not ready" in one]
    assert "{{" not in message + report.text
    assert "Zq8vT2xKm4Lw9Rb7Nc3D" not in message + report.text
    assert line.count("`") == 2, "what was said is in quotes, to the end"
    assert line.index("`") < line.index("@channel") < line.rindex("`")
    assert len(line) < 300


def test_a_message_is_short_however_much_is_wrong(report: Report) -> None:
    report.facts["nodes"] = ["cp-1", "cpu-1", "gpu-1", "gpu-2", *(f"new-{number}" for number in range(300))]
    ended = [
        site.certificate(f"c{number}-{'x' * 200}", "2026-11-20T07:00:00Z", "2026-10-20T07:00:00Z")
        for number in range(99)
    ]
    report.cluster.lists[site.CERTIFICATES] = ended
    message = report.look()
    assert "and 85 more" in message.splitlines()
    assert len(message) < 8000, "Mattermost takes 16383 characters"
    assert report.text.count("it has ended") == 99
    assert "in the cluster file, and not joined: new-0, new-1, new-10 and 297 more" in report.text


def test_pages_are_read_to_the_end(report: Report) -> None:
    assert len(report.cluster.lists[site.PODS]) > 2
    report.look()
    assert "cpu-1 with 5 of 110" in report.text


def test_the_api_servers_own_format(report: Report) -> None:
    read = report.modules.reading.metrics
    assert list(read(site.METRICS, "apiserver_storage_size_bytes")) == [2**30]
    assert list(read('a 1\na_b 2\na{x="} 7"} 3 1700000000\n', "a")) == [1, 3]
    assert list(read("", "a")) == []
    report.cluster.metrics = "other 1\n"
    report.look()
    assert report.data["notKnown"] == ["room of etcd: the API server does not tell apiserver_storage_size_bytes"]
