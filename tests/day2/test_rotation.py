"""Secrets that are rotated step by step, on a cluster that is played: what MinIO takes is judged at every write."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livecluster import LiveCluster, living
from msgspec import structs
from reference import load
from rotationsite import USER, KilledError, Site, application, begin

from generator.cli import run
from generator.components import compose
from generator.components.minio.metrics import token
from generator.day2.rotation import rotating, syncs
from generator.day2.rotation.family import family
from generator.day2.rotation.plan import plan
from generator.day2.rotation.readers import readers
from generator.errors import UsageError
from generator.live.bootstrap.secret_values import Values
from generator.live.bootstrap.secrets_step import Keeping, secrets_step
from generator.live.running import ConflictError
from generator.live.secret_objects import encoded, values_of
from generator.model.cluster import Cluster

ROOT = Path(__file__).parents[2]
COPY = "rook-ceph/minio-user-backup-writer"
SPACES = ("minio", "rook-ceph", "zabbix", "monitoring", "log-collector", "cert-manager", "serving", "kubeflow-system")


class PlayedMinio:
    """What MinIO takes: the key that the setup saw last, and the former one where that was named."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.taken: set[str] = set()
        self.setup()

    def setup(self) -> bool:
        held = self.site.values(USER)
        known = self.taken & {held.get("formerAccessKey", "")}
        self.taken = {held["accessKey"]} | known
        return True


@pytest.fixture
def site(tmp_path: Path, ml50: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[LiveCluster, Site]]:
    monkeypatch.setattr(syncs, "POLL", 0.02)
    monkeypatch.setattr(rotating, "TICK", 0.0)
    with living(tmp_path) as (cluster, running):
        found = begin(running, ml50, *SPACES)
        found.make(USER)
        yield cluster, found


@pytest.fixture
def minio(site: tuple[LiveCluster, Site]) -> Iterator[PlayedMinio]:
    """A user whose copy MinIO takes whenever anything is written."""
    cluster, found = site
    played = PlayedMinio(found)
    found.hooks["minio"] = played.setup

    def judge(one: dict[str, Any]) -> None:
        copy = found_in(cluster, COPY)
        assert copy["accessKey"] in played.taken, (one["kind"], one["metadata"]["name"])

    cluster.reacts.append(judge)
    with found.synced("minio"):
        yield played


def found_in(cluster: LiveCluster, name: str) -> dict[str, str]:
    space, _, own = name.partition("/")
    return {key: value.decode() for key, value in values_of(cluster.get("Secret", own, space)).items()}


def test_a_users_key_is_replaced_while_each_copy_is_taken_at_every_moment(
    site: tuple[LiveCluster, Site], minio: PlayedMinio
) -> None:
    _, found = site
    before = found.values(USER)
    work, said = found.rotating(USER)
    work.run()
    after = found.values(USER)
    assert set(after) == {"accessKey", "secretKey"}
    assert not set(after.values()) & set(before.values())
    assert found.values(COPY) == after
    assert minio.taken == {after["accessKey"]}
    assert set(found.annotations(USER)) == {"rotated"}
    secrets = (*before.values(), *after.values())
    told = (*secrets, *encoded({value: value.encode() for value in secrets}).values())
    assert not [line for line in said if any(value in line for value in told)]


def test_killed_at_any_moment_it_goes_on_with_the_same_value(
    site: tuple[LiveCluster, Site], minio: PlayedMinio
) -> None:
    _, found = site
    for moment in range(1, 12, 2):
        before = found.values(USER)
        with pytest.raises(KilledError):
            found.rotating(USER, killed_at=moment)[0].run()
        begun = found.values(USER)
        found.rotating(USER)[0].run()
        after = found.values(USER)
        assert after["accessKey"] != before["accessKey"]
        assert begun == before or after["accessKey"] == begun["accessKey"], "no second new value"
        assert minio.taken == {after["accessKey"]}
        assert found.values(COPY) == after


def test_what_somebody_began_by_hand_goes_on(site: tuple[LiveCluster, Site], minio: PlayedMinio) -> None:
    _, found = site
    former = found.values(USER)["accessKey"]
    data = encoded({"accessKey": b"by-hand", "secretKey": b"s", "formerAccessKey": former.encode()})
    found.running.merge(at(USER), {"data": data})
    found.rotating(USER)[0].run()
    assert found.values(COPY) == {"accessKey": "by-hand", "secretKey": "s"}
    assert minio.taken == {"by-hand"}


@pytest.mark.parametrize("under_way", [0, 4, 9])
def test_a_stolen_key_ends_at_once_whatever_was_under_way(under_way: int, site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    taken = PlayedMinio(found)
    found.hooks["minio"] = taken.setup
    cluster.add(pod("old", volumes=[{"name": "k", "secret": {"secretName": "minio-user-backup-writer"}}]))
    stolen = set(taken.taken)
    with found.synced("minio"):
        with pytest.raises(KilledError):
            found.rotating(USER, killed_at=under_way)[0].run()
        stolen |= {found.values(USER)["accessKey"]}
        for moment in (4, None):
            with suppress(KilledError):
                found.rotating(USER, killed_at=moment, stolen=True)[0].run()
    held = found.values(USER)
    assert taken.taken == {held["accessKey"]}
    assert (set(held), found.values(COPY)) == ({"accessKey", "secretKey"}, held)
    assert held["accessKey"] not in stolen


@pytest.mark.parametrize("moment", range(1, 8))
def test_of_a_stolen_key_it_goes_on_as_such_whoever_goes_on(moment: int, site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    taken = PlayedMinio(found)
    found.hooks["minio"] = taken.setup
    cluster.add(pod("old", volumes=[{"name": "k", "secret": {"secretName": "minio-user-backup-writer"}}]))
    (stolen,) = taken.taken
    with found.synced("minio"):
        killed = False
        try:
            found.rotating(USER, killed_at=moment, stolen=True)[0].run()
        except KilledError:
            killed = True
        begun = found.values(USER)["accessKey"]
        if killed and begun != stolen:
            # As `gen secret list` says it, without a word of what was stolen; the pod with the former key stays.
            found.rotating(USER, killed_by="rook-ceph/old")[0].run()
        if begun != stolen:
            assert taken.taken == {begun} == {found.values(COPY)["accessKey"]}


def test_nobody_who_writes_a_copy_keeps_a_stolen_key_alive(site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    taken = PlayedMinio(found)
    found.hooks["minio"] = taken.setup
    former = found_in(cluster, COPY)

    def keeps(one: dict[str, Any]) -> None:
        if (one["kind"], one["metadata"]["namespace"]) == ("Secret", "rook-ceph"):
            one["data"] = encoded({key: value.encode() for key, value in former.items()})

    cluster.reacts.append(keeps)
    with found.synced("minio"), pytest.raises(UsageError, match=f"{COPY}: somebody else writes it"):
        found.rotating(USER, stolen=True)[0].run()
    assert former["accessKey"] not in taken.taken


def test_a_user_keeps_no_key_beside_itself(site: tuple[LiveCluster, Site], minio: PlayedMinio, tmp_path: Path) -> None:
    """Another secret of the same key would count at once: what has a copy would write no backup until it has it."""
    _, found = site
    before = found.values(USER)
    (tmp_path / USER).mkdir(parents=True)
    (tmp_path / USER / "accessKey").write_text(before["accessKey"])
    (tmp_path / USER / "secretKey").write_text("another")
    with pytest.raises(UsageError, match=f"{USER}: the accessKey that is given is the one it has"):
        found.rotating(USER, values=Values(tmp_path, {}, None))[0].run()
    assert (found.values(USER), minio.taken) == (before, {before["accessKey"]})


def test_of_a_key_that_only_others_have_its_end_is_told(site: tuple[LiveCluster, Site]) -> None:
    _, found = site
    work, _ = found.rotating(USER)
    assert plan(work, found.cluster).still == ""
    alone = structs.replace(work.family, copies=())
    assert plan(structs.replace(work, family=alone), found.cluster).still == "what still has the former value"


def test_a_pod_that_began_before_keeps_the_former_key(site: tuple[LiveCluster, Site], minio: PlayedMinio) -> None:
    cluster, found = site
    former = found.values(USER)["accessKey"]
    cluster.add(pod("old", volumes=[{"name": "k", "secret": {"secretName": "minio-user-backup-writer"}}]))
    cluster.add(pod("over", phase="Succeeded", envFrom=[{"secretRef": {"name": "minio-user-backup-writer"}}]))
    cluster.add(pod("other", volumes=[{"name": "k", "secret": {"secretName": "another"}}]))
    with pytest.raises(KilledError):
        found.rotating(USER, killed_by="rook-ceph/old")[0].run()
    assert former in minio.taken
    found.running.delete("/api/v1/namespaces/rook-ceph/pods/old")
    found.rotating(USER)[0].run()
    assert former not in minio.taken


@pytest.mark.parametrize(
    "part",
    [
        {"volumes": [{"name": "k", "projected": {"sources": [{"secret": {"name": "s"}}]}}]},
        {"volumes": [{"name": "k", "secret": {"secretName": "s"}}]},
        {"containers": [{"env": [{"name": "K", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]},
        {"initContainers": [{"envFrom": [{"secretRef": {"name": "s"}}]}]},
    ],
)
def test_pods_that_read_a_secret_in_any_way_are_found(part: dict[str, Any], site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    cluster.add(pod("reader", **part))
    one = structs.replace(found.declare(USER)[0], name="s", namespace="rook-ceph")
    assert [each["metadata"]["name"] for each in readers(found.running, one)] == ["reader"]
    assert readers(found.running, structs.replace(one, name="k")) == []


def test_who_reads_only_at_its_start_is_restarted_once(site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    login = {"username": b"u", "password": b"before"}
    cluster.add(secret("log-server", "log-collector", login))
    cluster.add(
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "alloy", "namespace": "log-collector"}}
    )
    values = Values(None, {}, lambda what: "after" if "password" in what else "u")
    found.rotating("log-server", values=values)[0].run()
    assert found_in(cluster, "log-collector/log-server") == {"username": "u", "password": "after"}
    template = cluster.get("DaemonSet", "alloy")["spec"]["template"]
    assert list(template["metadata"]["annotations"]) == ["kubectl.kubernetes.io/restartedAt"]


def test_a_token_is_made_of_the_new_keys_and_its_copy_is_read_by_a_sync_of_its_own(
    site: tuple[LiveCluster, Site],
) -> None:
    _, found = site
    found.make("minio/minio-metrics")
    ran: list[str] = []

    def runs(name: str) -> bool:
        ran.append(name)
        return True

    found.hooks |= {name: partial(runs, name) for name in ("minio", "zabbix")}
    with found.synced("minio", "zabbix"):
        found.rotating("minio-metrics")[0].run()
    held = found.values("minio/minio-metrics")
    assert held["token"].encode() == token(held["accessKey"].encode(), held["secretKey"].encode())
    assert found.values("zabbix/minio-metrics") == {"token": held["token"]}
    assert ran == ["minio", "zabbix"]


def test_what_others_make_is_deleted_and_waited_for(site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    keys = {"ca.crt": b"c", "tls.crt": b"c", "tls.key": b"before"}
    cluster.add(secret("cert-manager-webhook-ca", "cert-manager", keys))

    def made_again(_said: str) -> None:
        cluster.add(secret("cert-manager-webhook-ca", "cert-manager", keys | {"tls.key": b"after"}))

    work, _ = found.rotating("cert-manager-webhook-ca")
    assert plan(work, found.cluster).still == "the start of pods that mount it, or the host whose certificate it is,"
    waiting = structs.replace(work.waiting, tell=made_again)
    structs.replace(work, waiting=waiting).run()
    assert found_in(cluster, "cert-manager/cert-manager-webhook-ca")["tls.key"] == "after"


def test_a_job_that_fails_ends_it_before_any_copy_changes(site: tuple[LiveCluster, Site]) -> None:
    _, found = site
    before = found.values(COPY)
    found.hooks["minio"] = lambda: False
    with found.synced("minio"):
        with pytest.raises(UsageError, match=r"minio: its sync failed: .*run again to go on"):
            found.rotating(USER)[0].run()
        assert found.values(COPY) == before
        found.hooks["minio"] = lambda: True
        found.rotating(USER)[0].run()
    assert found.values(COPY) == found.values(USER) != before


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rook-csi-rbd-node", "rook-csi-rbd-node: .* it takes more than a new value; by hand: "),
        ("rook-ceph-mon", "data is lost with its values; by hand: by a commit: "),
        ("site-ca", "data is lost with its values; by hand: give the new CA"),
        ("minio-user-backup-writr", "declares no Secret .*did you mean `minio-user-backup-writer`"),
        ("minio/minio-user-backup", "did you mean `minio/minio-user-backup-writer`"),
    ],
)
def test_what_a_person_must_rotate_is_refused_with_words(name: str, why: str, site: tuple[LiveCluster, Site]) -> None:
    with pytest.raises(UsageError, match=why):
        family(site[1].declared, name)


# All that no command turns, and why.
BY_A_PERSON = {
    "acceptance-jobs/acceptance-datasets": "Rook makes the keys of a claim once",
    "acceptance-jobs/acceptance-store": "Rook makes the keys of a claim once",
    "argocd/argocd-initial-admin-secret": "Argo CD takes it only before the first password is set",
    "cert-manager/site-ca": "whoever trusts the CA is outside",
    "minio-backup/backup-target-models": "its owner is elsewhere",
    "rook-ceph/rook-ceph-mon": "a commit has Rook turn it",
    "rook-ceph/rook-csi-cephfs-node": "a commit has Rook turn it",
    "rook-ceph/rook-csi-cephfs-provisioner": "a commit has Rook turn it",
    "rook-ceph/rook-csi-rbd-node": "a commit has Rook turn it",
    "rook-ceph/rook-csi-rbd-provisioner": "a commit has Rook turn it",
    "speech/ceph-bucket-speech-recordings": "Rook makes the keys of a claim once",
}


def test_all_others_are_turned_by_a_command() -> None:
    """What a store outside holds is turned there."""
    found: dict[str, Any] = {}
    for name in ("ml50", "a30-bench", "gpu-serving"):
        declared = [secret for component in compose(load(name)) for secret in component.secrets]
        found |= {one.full_name: one for one in declared if one.by_hand and one.source != "external"}
    assert found.keys() == BY_A_PERSON.keys()
    assert all(one.rotate for one in found.values())


def test_a_copy_stands_for_what_it_is_a_copy_of(site: tuple[LiveCluster, Site]) -> None:
    found = family(site[1].declared, COPY)
    assert (found.origin.full_name, [one.full_name for one in found.copies]) == (USER, [COPY])


def test_where_nothing_new_is_given_nothing_is_done(site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    cluster.add(secret("log-server", "log-collector", {"username": b"u", "password": b"p"}))
    with pytest.raises(UsageError, match="no new value is given: put it into DIR/log-collector/log-server/username"):
        found.rotating("log-server")[0].run()
    same = Values(None, {}, lambda what: "p" if "password" in what else "u")
    with pytest.raises(UsageError, match="no new value is given"):
        found.rotating("log-server", values=same)[0].run()
    assert found_in(cluster, "log-collector/log-server") == {"username": "u", "password": "p"}


def test_a_secret_that_somebody_changes_meanwhile_is_not_overwritten(site: tuple[LiveCluster, Site]) -> None:
    cluster, found = site
    cluster.add(secret("log-server", "log-collector", {"username": b"u", "password": b"p"}))

    def ask(_what: str) -> str:
        cluster.add(secret("log-server", "log-collector", {"username": b"u", "password": b"theirs"}))
        return "mine"

    with pytest.raises(ConflictError):
        found.rotating("log-server", values=Values(None, {}, ask))[0].run()
    assert found_in(cluster, "log-collector/log-server")["password"] == "theirs"


@pytest.mark.usefixtures("minio")
def test_bootstrap_says_who_goes_on_with_what_is_under_way(site: tuple[LiveCluster, Site]) -> None:
    _, found = site
    with pytest.raises(KilledError):
        found.rotating(USER, killed_at=2)[0].run()
    keeping = Keeping(values=Values(None, {}, None))
    step = secrets_step(found.running, found.cluster, found.declare(USER), keeping)
    assert [one.partition("; ")[2] for one in step.blocked] == [
        f"`gen secret rotate {USER} --apply` goes on with what is under way"
    ] * 2


def gen(tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    whole = ["secret", *words, "--cluster", "ml50", "-C", str(ROOT), "--kubeconfig", str(tmp_path / "kubeconfig")]
    code = run(whole)
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.usefixtures("minio")
def test_a_plan_tells_all_and_changes_nothing(
    site: tuple[LiveCluster, Site], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, _ = site
    cluster.writes.clear()
    before = dict(cluster.objects)
    code, said, _ = gen(tmp_path, capsys, "rotate", USER)
    assert code == 0
    for part in ("formerAccessKey", COPY, "Job minio-setup", "nothing stands still", "--apply"):
        assert part in said
    assert cluster.objects == before
    code, said, _ = gen(tmp_path, capsys, "rotate", USER, "--output", "json")
    assert [one["step"] for one in json.loads(said)["steps"]] == [
        "values",
        "both",
        "copies",
        "readers",
        "former",
        "end",
    ]


def test_what_is_in_its_way_is_told_and_nothing_begins(
    site: tuple[LiveCluster, Site], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, found = site
    code, said, _ = gen(tmp_path, capsys, "rotate", USER)
    assert (code, "in its way: there is no Application minio" in said) == (1, True)
    behind = application("minio")
    behind["status"]["sync"]["status"] = "OutOfSync"
    cluster.add(behind)
    before = found.values(USER)
    code, _, said = gen(tmp_path, capsys, "rotate", USER, "--apply")
    assert (code, "minio is not as in Git (OutOfSync): `gen sync minio` first" in said) == (2, True)
    found.running.merge(at(COPY), {"data": encoded({"accessKey": b"other"})})
    assert f"{COPY} does not hold what {USER} holds" in gen(tmp_path, capsys, "rotate", USER)[1]
    assert found.values(USER) == before


@pytest.mark.usefixtures("minio")
def test_the_list_tells_ages_and_who_rotates(
    site: tuple[LiveCluster, Site], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, found = site
    found.rotating(USER)[0].run()
    cluster.add(secret("zabbix-database", "zabbix", {"username": b"u", "password": b"hidden"}))
    renewed = secret("minio-tls", "minio", {})
    renewed["metadata"]["managedFields"] = [{"time": "2026-01-01T00:00:00Z"}, {"time": f"{datetime.now(UTC):%FT%TZ}"}]
    cluster.add(renewed)
    code, said, _ = gen(tmp_path, capsys, "list")
    rows = {line.split()[0]: line for line in said.splitlines()}
    assert code == 0
    young = [name for name, row in rows.items() if "        0 d" in row]
    assert young == ["minio/minio-tls", USER]
    assert rows[USER].endswith(f"gen secret rotate {USER}")
    assert "by hand: " in rows["rook-ceph/rook-ceph-mon"]
    assert "not there" in rows["minio/minio-root"]
    assert COPY not in rows
    assert "hidden" not in said


def at(name: str) -> str:
    space, _, own = name.partition("/")
    return f"/api/v1/namespaces/{space}/secrets/{own}"


def secret(name: str, namespace: str, values: dict[str, bytes]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded(values)}


def pod(name: str, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "rook-ceph"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}
