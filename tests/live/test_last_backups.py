"""The last good backup, by the Workflows that are still there."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs
from reference import load

from generator.components import compose
from generator.components.workflows.drill import workflow_template as drill_template
from generator.components.workflows.scheduled import BACKUP, DRILL, label
from generator.layout.projects import own_manifests
from generator.live.status.last_backups import KEPT, LastBackup, LastRun, last_backups

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
CLUSTER = load("ml50")
NAME = CLUSTER.backups[0].name


def run(hours: float, phase: str, message: str = "", of: str = BACKUP) -> dict[str, Any]:
    began = (NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": f"run-{hours:g}", "namespace": "rook-ceph", "labels": {label(of): NAME}}
    metadata["creationTimestamp"] = began
    return {"metadata": metadata, "status": {"phase": phase, "message": message}}


def told(*runs: dict[str, Any]) -> LastRun:
    return next(iter(last_backups(CLUSTER, runs, (), NOW))).copy


def tried(*runs: dict[str, Any]) -> LastRun:
    found = next(iter(last_backups(CLUSTER, (run(20, "Succeeded"),), runs, NOW))).drill
    assert found
    return found


def test_the_label_is_the_one_that_the_schedule_puts_on_its_runs() -> None:
    made = {one.name: one for one in compose(CLUSTER)}
    (schedule, *_) = [one for one in own_manifests(made["workflows"]) if one["kind"] == "CronWorkflow"]
    assert schedule["spec"]["workflowMetadata"]["labels"][label(BACKUP)] == NAME


def test_the_newest_good_run_counts() -> None:
    found = told(run(20, "Succeeded"), run(44, "Succeeded"), run(0.1, "Running"))
    assert found.good == "2026-05-31T16:00:00Z"
    assert found.running
    assert found.causes == ()


def test_a_last_run_that_failed_says_why() -> None:
    (cause,) = told(run(20, "Succeeded"), run(1, "Failed", "child 'precheck' failed")).causes
    assert cause.why == "its last run failed: child 'precheck' failed"
    assert cause.command == f"gen workflow logs run-1 --cluster {CLUSTER.name}"


def test_a_good_run_that_is_too_old_is_told() -> None:
    (cause,) = told(run(24 * 6, "Succeeded")).causes
    assert cause.why.startswith("its last good run began 144 hours ago, and it should run by")


def test_none_at_all_is_told_and_not_of_what_is_suspended() -> None:
    assert [one.why for one in told().causes] == ["no run of the last 7 days was good"]
    backups = tuple(structs.replace(one, suspended=True) for one in CLUSTER.backups)
    (first, *_) = last_backups(structs.replace(CLUSTER, backups=backups), (), (), NOW)
    assert [one.why for one in first.causes] == ["it is suspended in the cluster file"] * 2


def test_the_last_good_drill_counts_for_two_weeks() -> None:
    found = tried(run(24 * 13, "Succeeded", of=DRILL), run(0.1, "Running", of=DRILL))
    assert (found.good, bool(found.running), found.causes) == ("2026-05-19T12:00:00Z", True, ())
    (late,) = tried(run(24 * 15, "Succeeded", of=DRILL)).causes
    assert late.why == "its last good run began 360 hours ago, and it should run by `30 5 * * 0`"


def test_a_drill_that_failed_or_never_was_says_what_to_do() -> None:
    (failed,) = tried(run(30, "Succeeded", of=DRILL), run(1, "Failed", "child 'prove' failed", of=DRILL)).causes
    assert failed.objects == (f"drill {NAME}",)
    assert (failed.why, failed.command) == (
        "its last run failed: child 'prove' failed",
        f"gen workflow logs run-1 --cluster {CLUSTER.name}",
    )
    (never,) = tried().causes
    assert never.why == "no run of the last 28 days was good"
    assert never.command == f"gen workflow submit drill-{NAME} --cluster {CLUSTER.name} --watch"


def test_runs_are_kept_as_long_as_is_said() -> None:
    assert drill_template()["spec"]["ttlStrategy"]["secondsAfterCompletion"] == 28 * 86400
    assert KEPT == {BACKUP: "7 days", DRILL: "28 days"}


def test_every_backup_has_a_drill() -> None:
    found: list[LastBackup] = list(last_backups(CLUSTER, (), (), NOW))
    assert [one.name for one in found if one.drill] == ["datasets", "checkpoints", "models", "etcd", "zabbix"]


def looked(hours: float, **nodes: dict[str, str]) -> dict[str, Any]:
    """Return a run that brought a snapshot of etcd to its bucket, and looked at these nodes."""
    made = run(hours, "Succeeded")
    made["metadata"]["labels"] = {label(BACKUP): "etcd"}
    made["status"]["nodes"] = {
        name: {
            "inputs": {"parameters": [{"name": "node", "value": name.replace("_", "-")}]},
            "outputs": {"parameters": [{"name": key, "value": value} for key, value in said.items()]},
        }
        for name, said in nodes.items()
    }
    return made


def said(days: float, good: str = "1") -> dict[str, str]:
    return {"taken": "1", "worked": f"{(NOW - timedelta(days=days)).timestamp():.0f}", "good": good}


def of_nodes(*runs: dict[str, Any]) -> LastRun:
    (found,) = [one.drill for one in last_backups(CLUSTER, runs, (), NOW) if one.name == "etcd"]
    assert found
    return found


def test_a_drill_of_etcd_is_each_nodes_own_and_the_oldest_good_one_counts() -> None:
    newest = looked(5, cp_1=said(3), cp_2=said(4), cp_3=said(2))
    found = of_nodes(looked(11, cp_1=said(9), cp_2=said(9), cp_3=said(9)), newest)
    assert found == LastRun(good="2026-05-28T12:00:00Z", running="", causes=())


def test_a_node_that_a_newer_run_could_not_look_at_is_told_of_by_the_one_before() -> None:
    found = of_nodes(looked(5, cp_1=said(3), cp_2=said(3), cp_3={}), looked(11, cp_3=said(10, good="0")))
    assert found.good == "2026-05-22T12:00:00Z"
    (cause,) = found.causes
    assert cause.why == "the last snapshot that cp-3 tried did not bring etcd back"
    assert cause.command.startswith("ssh root@10.10.0.1")


def test_nodes_whose_drill_is_too_old_or_never_was_are_named() -> None:
    found = of_nodes(looked(5, cp_1=said(15), cp_2={"taken": "1", "worked": "0", "good": "none"}, cp_3=said(14)))
    assert found.good == ""
    assert [cause.why for cause in found.causes] == [
        "the last snapshot of cp-1 that brought etcd back is 15 days old: one a week is tried",
        "no snapshot of cp-2 is known to have brought etcd back",
    ]


def test_where_the_run_rests_that_tells_of_nodes_nothing_is_said_of_their_drills() -> None:
    etcd = CLUSTER.kubernetes.etcd
    assert etcd.backup
    resting = structs.replace(etcd, backup=structs.replace(etcd.backup, suspended=True))
    cluster = structs.replace(CLUSTER, kubernetes=structs.replace(CLUSTER.kubernetes, etcd=resting))
    assert [one.drill for one in last_backups(cluster, (), (), NOW) if one.name == "etcd"] == [None]
