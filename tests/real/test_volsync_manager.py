"""VolSync's real manager on a real API server, with its chart's own definitions and rights, in a team's namespace with
the rules of teams: it takes what gen renders, and makes the mover of it. Snapshots, claims and pods have no controllers
there: the test says what those would say. Kueue's webhook is not there either, which would put the mover in the queue.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from loopback import config
from msgspec import structs
from reference import load
from volsyncsite import install, sources_of, space
from volsyncsite import manager as command
from volsyncsite import secret as held_secret
from volumebackups import HOME

from generator.components import compose
from generator.components.tenants.rbac import MEMBER, roles
from generator.components.volsync.names import AUTHORITIES, CA, NAMESPACE, repository
from generator.day2.volume_progress import comparing, filling
from generator.day2.volume_restore import DESTINATIONS, Verdict, asked, begin, compare, compared, filled
from generator.errors import UsageError
from generator.live.api import of_kubeconfig
from generator.live.running import RunningCluster
from generator.live.status.last_volumes import last_volumes
from generator.model.backup import VolumeBackup, VolumeSource
from generator.model.storage import Bucket
from generator.process import background

if TYPE_CHECKING:
    from apiserver import ApiServer

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.real

Object = dict[str, Any]
BACKUP = structs.replace(HOME, source=structs.replace(HOME.source, storage_class="shared-fast"))
ROOT = structs.replace(
    BACKUP,
    name="language-models",
    source=VolumeSource(team="language", claim="home", storage_class="rbd-nvme"),
    user=None,
    privileged=True,
)
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:volsync"
CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"
SNAPSHOTS = "/apis/snapshot.storage.k8s.io/v1/namespaces/{}/volumesnapshots"
SOURCES = "/apis/volsync.backube/v1alpha1/namespaces/{}/replicationsources"
NOW = "2026-06-01T12:00:00Z"


def cluster() -> Any:
    ml50 = load("ml50")
    objects = ml50.storage.objects
    assert objects
    storage = structs.replace(
        ml50.storage, objects=structs.replace(objects, buckets=(*objects.buckets, Bucket(name="volumes")))
    )
    return structs.replace(ml50, storage=storage, volume_backups=(BACKUP, ROOT))


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator["ApiServer"]:
    """A server of its own: on the shared one are policies of other tests, which want Kueue there."""
    from apiserver import start

    with start(tmp_path_factory.mktemp("volumes")) as running:
        yield running


@pytest.fixture(scope="module")
def manager(api: "ApiServer", tmp_path_factory: pytest.TempPathFactory) -> Iterator["ApiServer"]:
    folder = tmp_path_factory.mktemp("volsync")
    made = {one.name: one for one in compose(cluster())}
    program = install(api, folder, cluster(), made)
    for team in ("vision", "language"):
        prepare(api, made, team)
    with background(folder, command(program, kubeconfig(api, folder))):
        yield api


def prepare(api: "ApiServer", made: dict[str, Any], team: str) -> None:
    """Make a team's namespace as it is rendered, with a claim, and with what bootstrap and cert-manager make."""
    space(api, made, team)
    for one in made["tenants"].secrets:
        if one.namespace == team and one.name in {CA, *(repository(each) for each in (BACKUP, ROOT))}:
            held_secret(api, team, one.name, {key: one.known.get(key, "x") for key in one.keys})
    claim = {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "2Ti"}},
        "volumeName": f"{team}-pv",
    }
    api.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "home", "namespace": team},
            "spec": {**claim, "storageClassName": "shared-fast"},
        }
    )
    bind(api, team, "home", "2Ti")
    for one in sources_of(made, team):
        api.apply(one)


def bind(api: "ApiServer", team: str, name: str, size: str) -> None:
    """Say of a claim what its provisioner would."""
    status = {"phase": "Bound", "capacity": {"storage": size}, "accessModes": ["ReadWriteMany"]}
    say(api, f"{CLAIMS.format(team)}/{name}", status)


def say(api: "ApiServer", path: str, status: Object) -> None:
    code, answer = api.request("PATCH", f"{path}/status", {"status": status}, patch="merge-patch+json")
    assert code == 200, answer


def kubeconfig(api: "ApiServer", folder: Path) -> Path:
    """Return a kubeconfig of the manager's own account, with the rights that the chart gives it."""
    file = config(folder, api.url, token=api.token)
    content = yaml.load(file.read_text(), yaml.CSafeLoader)
    content["clusters"][0]["cluster"]["certificate-authority"] = str(api.certificate)
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]
    content["users"][0]["user"] |= {"as": ACCOUNT, "as-groups": groups}
    file.write_text(yaml.safe_dump(content))
    return file


def found(api: "ApiServer", path: str) -> Object | None:
    code, answer = api.request("GET", path)
    return answer if code == 200 else None


def awaited(api: "ApiServer", path: str) -> Object:
    api.wait(path, lambda: found(api, path) is not None)
    there = found(api, path)
    assert there
    return there


def snapshot_taken(api: "ApiServer", team: str, name: str) -> Object:
    """Say of the snapshot that it is there, and of the claims that they are bound."""
    path = f"{SNAPSHOTS.format(team)}/{name}"
    made = awaited(api, path)
    say(
        api,
        path,
        {"readyToUse": True, "boundVolumeSnapshotContentName": "content", "creationTime": NOW, "restoreSize": "2Ti"},
    )
    return made


def begun(api: "ApiServer", backup: VolumeBackup) -> tuple[Object, Object, Object]:
    """Wait for a backup's mover; return the snapshot, the claim of it and the Job."""
    team, name = backup.source.team, f"volsync-{backup.name}-src"
    snapshot = snapshot_taken(api, team, name)
    claim = awaited(api, f"{CLAIMS.format(team)}/{name}")
    return snapshot, claim, awaited(api, f"{JOBS.format(team)}/volsync-src-{backup.name}")


@pytest.fixture(scope="module")
def mover(manager: "ApiServer") -> tuple[Object, Object, Object]:
    return begun(manager, BACKUP)


def test_a_snapshot_is_taken_and_read_without_a_copy(mover: tuple[Object, Object, Object]) -> None:
    snapshot, claim, _ = mover
    assert snapshot["spec"]["volumeSnapshotClassName"] == "csi-cephfsplugin-snapclass"
    assert snapshot["spec"]["source"]["persistentVolumeClaimName"] == "home"
    assert claim["spec"]["accessModes"] == ["ReadOnlyMany"]
    assert claim["spec"]["storageClassName"] == "shared-fast"
    assert claim["spec"]["dataSource"]["name"] == snapshot["metadata"]["name"]


def test_the_cache_can_be_written(manager: "ApiServer", mover: tuple[Object, Object, Object]) -> None:
    assert mover
    cache = awaited(manager, f"{CLAIMS.format('vision')}/volsync-src-{BACKUP.name}-cache")
    assert cache["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_the_mover_runs_as_the_file_says_and_passes_the_teams_rules(mover: tuple[Object, Object, Object]) -> None:
    pod = mover[2]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = {one["name"]: one.get("value") for one in container["env"]}
    assert container["args"] == ["backup"]
    assert given["FORGET_OPTIONS"].strip() == "--keep-within 30d"
    assert given["CUSTOM_CA"]
    assert given["PRIVILEGED_MOVER"] == "0"
    assert pod["securityContext"]["runAsUser"] == 1000
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"]
    (data,) = [one for one in pod["volumes"] if one["name"] == "data"]
    assert data["persistentVolumeClaim"]["readOnly"] is True
    named = {one["valueFrom"]["secretKeyRef"]["name"] for one in container["env"] if "valueFrom" in one}
    assert named == {repository(BACKUP)}


def test_a_mover_is_root_where_the_namespace_says_so(manager: "ApiServer") -> None:
    _, claim, job = begun(manager, ROOT)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"]["runAsUser"] == 0
    assert set(container["securityContext"]["capabilities"]["add"]) == {"DAC_OVERRIDE", "CHOWN", "FOWNER"}
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]


def test_a_run_that_ends_well_is_told_and_leaves_no_copy(
    manager: "ApiServer", mover: tuple[Object, Object, Object]
) -> None:
    """What its Job's controller would say when the pod succeeded."""
    name = mover[2]["metadata"]["name"]
    source = f"{SOURCES.format('vision')}/{BACKUP.name}"
    before = awaited(manager, source)
    assert not before["status"].get("lastSyncTime")
    say(manager, f"{JOBS.format('vision')}/{name}", {"succeeded": 1, "startTime": NOW})
    manager.wait("the end of the run", lambda: bool((found(manager, source) or {})["status"].get("lastSyncTime")))
    gone = f"{SNAPSHOTS.format('vision')}/volsync-{BACKUP.name}-src"
    manager.wait("the snapshot's end", lambda: found(manager, gone) is None)
    told = list(last_volumes(cluster(), [awaited(manager, source)], [], datetime.now(tz=UTC)))
    assert told[0].copy.good
    assert told[0].copy.causes == ()
    assert time.time() - datetime.fromisoformat(told[0].copy.good).timestamp() < 120


def test_a_run_that_fails_says_so(manager: "ApiServer") -> None:
    """Eight pods failed, as the Job's controller would say; VolSync deletes the Job and begins anew."""
    team, job = ROOT.source.team, f"volsync-src-{ROOT.name}"
    uid = awaited(manager, f"{JOBS.format(team)}/{job}")["metadata"]["uid"]
    say(manager, f"{JOBS.format(team)}/{job}", {"failed": 8, "startTime": NOW})
    source = f"{SOURCES.format(team)}/{ROOT.name}"

    def failed() -> bool:
        found_now = found(manager, source) or {}
        return bool(found_now["status"].get("latestMoverStatus", {}).get("result") == "Failed")

    manager.wait("the failure", failed)
    told = list(last_volumes(cluster(), [awaited(manager, source)], [], datetime.now(tz=UTC)))[1]
    assert any(cause.why.startswith("its last mover failed") for cause in told.copy.causes)
    path = f"{JOBS.format(team)}/{job}"
    manager.wait("another Job", lambda: (found(manager, path) or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid)


def test_only_the_platform_declares_backups_in_a_teams_namespace(manager: "ApiServer") -> None:
    """Somebody who may do everything in the namespace, and nothing elsewhere."""
    role = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": "all-there"}
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    group = "rbac.authorization.k8s.io/v1"
    manager.apply({"apiVersion": group, "kind": "ClusterRole", "metadata": {"name": "all-there"}, "rules": [rule]})
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}
    binding = {"apiVersion": group, "kind": "RoleBinding", "metadata": {"name": "jane", "namespace": "language"}}
    manager.apply({**binding, "roleRef": role, "subjects": [subject]})
    (source,) = [
        one
        for each in compose(cluster())
        for one in each.objects
        if one["kind"] == "ReplicationSource" and one["metadata"]["namespace"] == "language"
    ]
    theirs = {**source, "metadata": {"name": "theirs", "namespace": "language"}}
    assert manager.create(theirs)[0] == 201
    jane = ("jane", ("system:authenticated",))
    manager.wait("the rule", lambda: manager.create(theirs, by=jane)[0] == 422)
    assert "volumeBackups" in manager.create(theirs, by=jane)[1]
    everywhere = {**binding, "kind": "ClusterRoleBinding", "metadata": {"name": "olga"}, "roleRef": role}
    manager.apply({**everywhere, "subjects": [{**subject, "name": "olga"}]})
    olga = ("olga", ("system:authenticated",))
    manager.wait("an administrator's right", lambda: manager.create(theirs, by=olga)[0] == 201)


def test_members_change_no_secret_of_a_backup(manager: "ApiServer") -> None:
    """A member, by the rights that teams' members have; reading is left to them, which nobody could prevent."""
    (member,) = [one for one in roles(()) if one["metadata"]["name"] == MEMBER]
    manager.apply(member)
    group = "rbac.authorization.k8s.io"
    manager.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "alice", "namespace": "vision"},
            "roleRef": {"kind": "ClusterRole", "apiGroup": group, "name": MEMBER},
            "subjects": [{"kind": "User", "apiGroup": group, "name": "alice"}],
        }
    )
    alice, secrets = ("alice", ("system:authenticated",)), "/api/v1/namespaces/vision/secrets"
    held = f"{secrets}/{repository(BACKUP)}"
    change = {"stringData": {"RESTIC_REPOSITORY": "s3:https://elsewhere.example.org/mine"}}
    own = secret("own")
    manager.wait("a member's rights", lambda: manager.create(own, by=alice)[0] == 201)
    authorities = {**secret(AUTHORITIES), "kind": "ConfigMap"}
    del authorities["stringData"]
    before = manager.request("GET", held, by=alice)
    assert before[0] == 200
    for code, answer in (
        manager.request("PATCH", held, change, patch="merge-patch+json", by=alice),
        manager.request("DELETE", held, by=alice),
        manager.request("DELETE", f"{secrets}/{CA}", by=alice),
        manager.request("DELETE", secrets, by=alice),
        manager.create(secret("volume-backup-of-ours"), by=alice),
        manager.create({**own, "metadata": {"generateName": "volume-backup-", "namespace": "vision"}}, by=alice),
        manager.create(authorities, by=alice),
    ):
        assert code == 422, answer
        assert "leave Secrets and ConfigMaps whose names begin with volume-backup-" in str(answer)
    assert manager.request("GET", held) == before
    assert manager.request("PATCH", f"{held}?dryRun=All", change, patch="merge-patch+json")[0] == 200


def secret(name: str) -> Object:
    metadata = {"name": name, "namespace": "vision"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"key": "x"}}


@pytest.fixture
def running(manager: "ApiServer", tmp_path: Path) -> RunningCluster:
    file = config(tmp_path, manager.url, token=manager.token)
    content = yaml.load(file.read_text(), yaml.CSafeLoader)
    content["clusters"][0]["cluster"]["certificate-authority"] = str(manager.certificate)
    file.write_text(yaml.safe_dump(content))
    return RunningCluster(of_kubeconfig(file, None))


def test_a_volume_comes_back_into_a_claim_of_its_own_and_is_compared(
    manager: "ApiServer", running: RunningCluster
) -> None:
    at = datetime(2026, 6, 1, 12, tzinfo=UTC)
    one = asked(BACKUP, datetime.now(tz=UTC), at="2026-06-01T12:00:00Z", into="home-again")
    assert one.at == at
    begin(running, cluster(), one)
    claim = awaited(manager, f"{CLAIMS.format('vision')}/home-again")
    assert claim["spec"]["resources"]["requests"]["storage"] == "2Ti"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    bind(manager, "vision", "home-again", "2Ti")
    job = awaited(manager, f"{JOBS.format('vision')}/volsync-dst-home-again")
    pod = job["spec"]["template"]["spec"]
    given = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert pod["containers"][0]["args"] == ["restore"]
    assert given["RESTORE_AS_OF"] == "2026-06-01T12:00:00Z"
    assert pod["securityContext"]["runAsUser"] == 1000
    (data,) = [each for each in pod["volumes"] if each["name"] == "data"]
    assert data["persistentVolumeClaim"]["claimName"] == "home-again"
    assert filled(running, one) is None
    # What VolSync said while the claim was not there yet is there until it looks again.
    manager.wait("the mover's turn", lambda: filling(running, one).what == "the mover has no pod that runs")
    say(manager, f"{JOBS.format('vision')}/volsync-dst-home-again", {"succeeded": 1, "startTime": NOW})
    manager.wait("the end of the way back", lambda: filled(running, one) == "")
    name = compare(running, cluster(), one)
    assert compared(running, one, name) is None
    assert comparing(running, one, name).what == "the comparison has no pod that runs"
    assert compare(running, cluster(), one) == name
    say(manager, f"{JOBS.format('vision')}/{name}", {"failed": 1, "startTime": NOW})
    assert compared(running, one, name) == Verdict(good=False)
    begin(running, cluster(), one)
    with pytest.raises(UsageError, match="being restored as of 2026-06-01T12:00:00Z"):
        begin(running, cluster(), structs.replace(one, at=datetime(2026, 6, 2, tzinfo=UTC)))


def test_a_claim_that_is_gone_is_neither_filled_twice_nor_proven(manager: "ApiServer", running: RunningCluster) -> None:
    """Follows the test before: VolSync has filled `home-again`."""
    path = f"{CLAIMS.format('vision')}/home-again"
    one = asked(BACKUP, datetime.now(tz=UTC), at="2026-06-01T12:00:00Z", into="home-again")
    name = compare(running, cluster(), one)
    manager.request("DELETE", path)
    if found(manager, path):  # the API server keeps a claim until its controller has seen that nobody uses it
        with pytest.raises(UsageError, match="is being removed"):
            begin(running, cluster(), one)
        manager.request("PATCH", path, {"metadata": {"finalizers": None}}, patch="merge-patch+json")
    manager.wait("the claim's end", lambda: found(manager, path) is None)
    with pytest.raises(UsageError, match="was removed while it was compared"):
        compared(running, one, name)
    with pytest.raises(UsageError, match="delete replicationdestination home-again"):
        begin(running, cluster(), one)
    filler = f"{DESTINATIONS.format('vision')}/home-again"
    running.delete(filler)
    manager.wait(
        "the end of what filled it", lambda: found(manager, f"{DESTINATIONS.format('vision')}/home-again") is None
    )
    begin(running, cluster(), one)
    assert compare(running, cluster(), one) != name


def test_a_claim_that_is_there_is_never_written_over(running: RunningCluster) -> None:
    one = asked(BACKUP, datetime.now(tz=UTC), at=None, into="home-again")
    with pytest.raises(UsageError, match="claim home of vision is there already"):
        begin(running, cluster(), structs.replace(one, into="home"))
