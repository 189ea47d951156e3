"""Operations as rendered, run by the real workflow controller in real pods, and driven by `gen workflow`."""

import json
import re
import subprocess
import time
from datetime import UTC, datetime

import pytest
from auditing import betrayed, stored, unused, written
from minioserver import ROOT_PASSWORD, ROOT_USER
from onenode.backups import ACCOUNTS, KEEPER, KEEPS, READER, READS, RESTORE_READER, at_once
from onenode.etcd_snapshot import read_back, snapshot
from onenode.site import Site, run_of, shown

from generator.components.minio_backup import NAMESPACE as MINIO
from generator.components.rook_ceph import NAMESPACE
from generator.live.apiserver import tries

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

STEPS = ("precheck", "mirror", "verify", "record", "keep")


@pytest.fixture(scope="module")
def site(backups: Site) -> Site:
    return backups


def test_a_backup_is_submitted_watched_and_read(site: Site) -> None:
    for number in range(30):
        site.mc("pipe", f"source/datasets/a folder/{number} 한글.txt", text=f"object {number}")
    time.sleep(1.1)
    done = site.backup()
    assert done.returncode == 0, done.stdout + done.stderr
    for step in STEPS:
        assert f"✔ {step} Succeeded" in done.stdout, done.stdout
    assert site.mc("cat", "target/datasets-backup/a folder/7 한글.txt") == "object 7"
    name = run_of(done)
    logs = site.gen("logs", name)
    assert re.search(r"^mirror\(0\) \| .* copied 30 objects$", logs.stdout, re.MULTILINE), logs.stdout
    assert "argo=true" not in logs.stdout
    listed = site.gen("list")
    assert name in listed.stdout, listed.stderr
    assert "backup-checkpoints" in listed.stdout
    steps = shown(site, name)["steps"]
    phases = {one["name"]: one["phase"] for one in steps}
    assert phases == dict.fromkeys(STEPS, "Succeeded") | {"compare": "Skipped"}


def test_logs_come_while_steps_run_each_line_once(site: Site) -> None:
    run = run_of(site.backup(watch=False))
    with subprocess.Popen(
        site.command("workflow", "logs", run, "--follow"), stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout
        first = program.stdout.readline()
        assert (first.partition("(")[0], shown(site, run)["phase"]) == ("precheck", "Running")
        lines = [first, *program.stdout]
    assert program.returncode == 0
    for step in STEPS:
        assert any(line.startswith(f"{step}(0) | ") for line in lines), lines
    assert sorted(lines) == sorted(site.gen("logs", run).stdout.splitlines(keepends=True))


def test_what_failed_is_told_and_done_once_more(site: Site) -> None:
    site.secret(READER, AccessKey=ROOT_USER, SecretKey="another-secret-key")
    begun = site.backup(watch=False)
    assert begun.returncode == 0, begun.stderr
    name = run_of(begun)
    assert site.gen("retry", name).returncode == 2
    for _ in tries(60):
        if "mc: <ERROR>" in (said := site.gen("logs", name).stdout) or "cannot list" in said:
            break
    else:
        raise AssertionError(said)
    stopped = site.gen("stop", name)
    assert stopped.returncode == 0, stopped.stderr
    watched = site.gen("watch", name)
    assert watched.returncode == 1, watched.stdout
    assert f"{name} Failed" in watched.stdout
    assert "✖ precheck" in site.gen("show", name).stdout
    site.secret(READER, AccessKey=ROOT_USER, SecretKey=ROOT_PASSWORD)
    again = site.gen("retry", name, "--watch")
    assert again.returncode == 0, again.stdout + again.stderr
    assert shown(site, run_of(again))["parameters"]["source-url"] == site.source.url
    assert site.gen("stop", name).stdout.startswith(f"{name} ended already")


def test_a_source_that_shrank_is_a_verdict_that_a_parameter_lifts(site: Site) -> None:
    site.mc("rm", "--recursive", "--force", "source/datasets/a folder/")
    site.mc("pipe", "source/datasets/one", text="one")
    time.sleep(1.1)
    refused = site.backup()
    assert refused.returncode == 1, refused.stdout
    lines = site.gen("logs", run_of(refused)).stdout
    assert "FAILED: the source shrank by more than 20 %" in lines
    assert "a folder/" in copies(site)
    meant = site.backup("-p", "shrink-percent=100")
    assert meant.returncode == 0, meant.stdout
    assert "hid 30 objects" in site.gen("logs", run_of(meant)).stdout
    assert "a folder/" not in copies(site)


def copies(site: Site) -> str:
    """Return what the backup's bucket shows."""
    return site.mc("ls", "--recursive", "target/datasets-backup")


def test_keys_that_were_not_made_yet_are_told_and_the_copy_is_good(site: Site) -> None:
    assert site.api.request("DELETE", f"/api/v1/namespaces/{NAMESPACE}/secrets/{KEEPER}")[0] == 200
    done = site.backup()
    site.secret(KEEPER, accessKey="keeps-backups", secretKey=KEEPS)
    assert done.returncode == 1, done.stdout
    assert "✔ record Succeeded" in done.stdout
    assert "the keys that hide and lock are not there: run `gen bootstrap`" in done.stdout, done.stdout


def test_wrong_words_are_answered_and_nothing_begins(site: Site) -> None:
    def names() -> set[str]:
        return {one["name"] for one in json.loads(site.gen("list", "--output", "json").stdout)["runs"]}

    before = names()
    for words, answer in (
        (("backup-dataset",), "no operation backup-dataset; did you mean backup-datasets"),
        (("backup",), f"backup is in several namespaces ({MINIO}, {NAMESPACE}): name one with --namespace"),
        (("backup", "--namespace", NAMESPACE), "backup does not know name, source-url, source-bucket"),
        (("backup-datasets", "-p", "shrink-percen=1"), "has no parameter shrink-percen; did you mean"),
        (("backup-datasets", "-p", "shrink-percent"), "say NAME=VALUE"),
    ):
        done = site.gen("submit", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert answer in done.stderr
    assert site.gen("submit", "backup-datasets", "--dry-run").returncode == 0
    assert site.gen("watch", "backup-datasets-none").returncode == 2
    assert names() == before


def test_a_step_uses_no_right_that_its_account_has_not(site: Site) -> None:
    """The account of the steps may report results, and nothing else."""
    account = f"system:serviceaccount:{NAMESPACE}:backup"
    path = f"/api/v1/namespaces/{NAMESPACE}/secrets"
    status, _ = site.api.request("GET", path, by=(account, ("system:serviceaccounts",)))
    assert status == 403


def test_a_bucket_is_brought_back_as_it_was(site: Site) -> None:
    for number in range(9):
        site.mc("pipe", f"source/datasets/was/{number} <한글> 100%.txt", text=f"object {number}")
    time.sleep(1.1)
    assert site.backup("-p", "shrink-percent=100").returncode == 0
    at = settled()
    site.mc("rm", "source/datasets/was/3 <한글> 100%.txt")
    for number, text in ((5, "changed since"), (7, "objecT 7")):
        site.mc("pipe", f"source/datasets/was/{number} <한글> 100%.txt", text=text)
    assert site.backup("-p", "shrink-percent=100").returncode == 0
    words = ("restore", "datasets", "--at", at, "--into", "datasets-then", "--yes")
    done = site.run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "✔ verify Succeeded" in done.stdout
    assert "proven by checksum" in done.stdout, done.stdout
    for number in range(9):
        assert site.mc("cat", f"source/datasets-then/was/{number} <한글> 100%.txt") == f"object {number}"
    assert site.mc("cat", "source/datasets/was/5 <한글> 100%.txt") == "changed since"
    gone = keys(site, "datasets-then") - keys(site, "datasets")
    switched = site.run(*words, "--switch", "all")
    assert switched.returncode == 0, switched.stdout + switched.stderr
    assert f"datasets: {len(gone)} missing objects are back" in switched.stdout, switched.stdout
    for number in range(9):
        assert site.mc("cat", f"source/datasets/was/{number} <한글> 100%.txt") == f"object {number}"


def test_a_backup_is_tried_and_what_came_of_it_is_told(site: Site) -> None:
    site.mc("pipe", "source/datasets/tried/<한글> 100%.txt", text="tried")
    time.sleep(1.1)
    assert site.backup("-p", "shrink-percent=100").returncode == 0
    good = site.gen("submit", "drill-datasets", "--watch")
    assert good.returncode == 0, good.stdout + good.stderr
    for step in ("prove", "record"):
        assert f"✔ {step} Succeeded" in good.stdout
    prefix = "target/datasets-backup/_gen/backups/_drills/datasets/"
    (record,) = [json.loads(line)["key"] for line in site.mc("--json", "ls", prefix).splitlines()]
    made = json.loads(site.mc("cat", prefix + record))
    assert made["objects"] == made["proven"] > 0
    assert made["started"] < made["finished"]
    site.mc("rm", "--versions", "--force", "target/datasets-backup/tried/<한글> 100%.txt")
    bad = site.gen("submit", "drill-datasets", "--watch")
    assert bad.returncode == 1, bad.stdout
    said = site.gen("logs", run_of(bad)).stdout
    assert "missing: tried/" in said
    assert "FAILED: 1 objects of the backup that ended at" in said
    no_metric_was_refused(site, run_of(good))
    no_metric_was_refused(site, run_of(bad))
    assert len(site.mc("--json", "ls", prefix).splitlines()) == 1
    assert site.backup().returncode == 0  # for those who come after: it is whole again


def no_metric_was_refused(site: Site, name: str) -> None:
    """The controller says so in a condition of the run; it offers metrics on all addresses, so not here."""
    _, found = site.api.request("GET", f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflows/{name}")
    assert "MetricsError" not in {one["type"] for one in found["status"]["conditions"]}


def test_why_nothing_is_brought_back_is_told(site: Site) -> None:
    early = site.run("restore", "datasets", "--at", "2020-01-01", "--into", "datasets-early", "--yes")
    assert early.returncode == 1, early.stdout
    assert "FAILED: 2020-01-01T00:00:00Z is before the first good backup" in early.stdout
    site.secret(RESTORE_READER, accessKey="reads-backups", secretKey="another-key")
    refused = site.run("restore", "datasets", "--into", "datasets-refused", "--yes")
    site.secret(RESTORE_READER, accessKey="reads-backups", secretKey=READS)
    assert refused.returncode == 1, refused.stdout
    assert "FAILED: the keys of the backup's reader are not accepted" in refused.stdout
    assert "another-key" not in refused.stdout


def test_a_restore_that_was_stopped_is_gone_on_with(site: Site) -> None:
    begun = site.gen("submit", "restore-datasets", "-p", "into=datasets-stopped")
    name = run_of(begun)
    for _ in tries(60):
        if [one for one in shown(site, name)["steps"] if one["name"] == "copy" and one["started"]]:
            break
    assert site.gen("stop", name, "--now").returncode == 0
    assert site.gen("watch", name).returncode == 1
    done = site.run("restore", "datasets", "--into", "datasets-stopped", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_bucket_of_minio_goes_elsewhere_is_compared_tried_and_comes_back(site: Site) -> None:
    site.mc("mb", "source/models")
    site.mc("mb", "--with-lock", "target/ml50-models")
    for number in range(9):
        site.mc("pipe", f"source/models/m/{number} <한글> 100%.bin", text=f"weights {number}")
    time.sleep(1.1)
    ends = ("-p", f"source-url={site.source.url}", "-p", f"target-url={site.target.url}")
    done = site.gen("submit", "backup-models", *ends, "-p", "compare-percent=100", "--watch")
    assert done.returncode == 0, done.stdout + done.stderr
    for step in (*STEPS[:3], "compare", "record"):
        assert f"✔ {step} Succeeded" in done.stdout, done.stdout
    compared = site.gen("logs", run_of(done)).stdout
    assert "finds 9 objects alike in name and size, and 9 that it read whole in content" in compared, compared
    tried = site.gen("submit", "drill-models", "-p", f"backup-url={site.target.url}", "--watch")
    assert tried.returncode == 0, tried.stdout + tried.stderr
    site.mc("rm", "source/models/m/3 <한글> 100%.bin")
    back = site.run("restore", "models", "--switch", "missing", "--yes")
    assert back.returncode == 0, back.stdout + back.stderr
    assert site.mc("cat", "source/models/m/3 <한글> 100%.bin") == "weights 3"
    site.mc("pipe", "target/ml50-models/m/4 <한글> 100%.bin", text="weightS 4")
    bad = site.gen("submit", "backup-models", *ends, "-p", "compare-percent=100", "-p", "sample=0", "--watch")
    assert bad.returncode == 1, bad.stdout
    assert "✖ compare" in bad.stdout, bad.stdout
    assert "the first is m/4" in bad.stdout, bad.stdout


def test_one_waits_for_its_turn_while_another_copies_and_what_was_killed_is_whole_the_next_time(site: Site) -> None:
    site.api.apply(at_once(1))
    site.mc("pipe", "source/checkpoints/one", text="one")
    large = {f"large/{number}": str(number) * 1_000_000 for number in range(10)}
    for key, text in large.items():
        site.mc("pipe", f"source/datasets/{key}", text=text)
    time.sleep(1.1)
    slow = run_of(site.backup("-p", "bandwidth=200000", watch=False))
    ends = ("-p", f"source-url={site.source.url}", "-p", f"target-url={site.target.url}")
    waits = run_of(site.gen("submit", "backup-checkpoints", *ends))
    assert any("large/" in copies(site) for _ in tries(60)), shown(site, slow)
    waiting = shown(site, waits)
    assert (waiting["phase"], waiting["steps"]) == ("Pending", []), waiting
    assert "/backup-targets/minio lock" in waiting["message"], waiting
    assert site.gen("stop", slow, "--now").returncode == 0
    brought = {key for key in large if key in copies(site)}
    assert 0 < len(brought) < len(large), "the copy was not in the middle"
    assert site.gen("watch", slow).returncode == 1
    done = site.gen("watch", waits)
    assert done.returncode == 0, done.stdout
    again = site.backup()
    assert again.returncode == 0, again.stdout
    assert f"copied {len(large) - len(brought)} objects" in site.gen("logs", run_of(again)).stdout
    assert all(site.mc("cat", f"target/datasets-backup/{key}") == text for key, text in large.items())


def test_a_schedule_leaves_out_what_would_wait_for_a_run_by_hand(site: Site) -> None:
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/cronworkflows/backup-datasets"
    begun = run_of(site.backup(watch=False))

    def works() -> set[str]:
        return {one["name"] for one in site.api.request("GET", path)[1].get("status", {}).get("active") or ()}

    assert any(begun in works() for _ in tries(60)), site.api.request("GET", path)[1]
    assert site.gen("watch", begun).returncode == 0
    assert any(begun not in works() for _ in tries(60))


def test_a_snapshot_of_etcd_is_brought_by_a_pod_and_read_again(site: Site) -> None:
    """That nodes take and encrypt it so is tried in test_etcd.py, the script in test_etcd_upload.py."""
    taken, brought = snapshot(site), site.folder / "brought.db.age"
    site.mc("mb", "--with-lock", "target/etcd-backup")
    words = ("-p", f"target-url={site.target.url}", "-p", 'nodes=["localhost"]')
    done = site.gen("submit", "backup-etcd", *words, "--watch")
    assert done.returncode == 0, done.stdout + done.stderr
    site.mc("cp", "target/etcd-backup/etcd/snapshot.db.age", str(brought))
    read_back(brought, taken)


def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others: runs that went well, that failed, that were stopped and that were gone on with."""
    assert unused(site.api, site.folder, *ACCOUNTS) == set()


def test_no_secret_is_told(site: Site) -> None:
    """After all others: in no parameter, result, log, annotation or event of all these runs."""
    assert {ROOT_PASSWORD, READS, KEEPS, "another-secret-key"} <= site.secrets
    places = [*stored(site.api), *written(site.folder)]
    for where, words in (("pod-logs/", "copied 30 obj"), ("/workflows", "shrink-percent"), ("audit.log", '"listed"')):
        assert any(where in place and words in text for place, text in places), where
    assert betrayed(places, site.secrets) == []


def keys(site: Site, bucket: str) -> set[str]:
    """Return what a bucket of the live side holds."""
    listed = site.mc("--json", "ls", "--recursive", f"source/{bucket}").splitlines()
    return {json.loads(line)["key"] for line in listed}


def settled() -> str:
    """Let the seconds pass by which versions are told apart; return the time."""
    time.sleep(2.1)
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
