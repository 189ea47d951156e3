"""Ways to give Secrets other values that programs of the cluster make, or read only when they start; who makes them is
played.
"""

import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from livecluster import MADE, LiveCluster, Refusal, living
from msgspec import structs
from reference import load
from rotationsite import KilledError, Site, begin

from generator.day2.rotation import rotating, syncs
from generator.day2.rotation.plan import plan
from generator.errors import UsageError
from generator.live.secret_objects import encoded, path
from generator.model.cluster import Cluster

KUEUE = "kueue-system/kueue-webhook-server-cert"
HUBBLE = "kube-system/cilium-ca"
TOKEN = "zabbix/zabbix-reader-token"
ACCOUNT = "/api/v1/namespaces/zabbix/serviceaccounts/zabbix-reader"
ADAPTER = "prometheus-adapter/prometheus-adapter-root-cert"
ROOT = "minio/minio-root"
REDIS = "argocd/argocd-redis"
SPACES = ("kueue-system", "kube-system", "zabbix", "prometheus-adapter", "minio", "argocd", "rook-ceph")
TRUSTED, SERVED = 5, 8
"""Looks after the restart: those of three steps come first."""
LATER = "2031-01-01T00:00:00Z"


class Played:
    """The cluster and its declared Secrets. A `player` is called before each step and at each look that waits."""

    def __init__(self, cluster: LiveCluster, site: Site) -> None:
        self.cluster, self.site, self.count = cluster, site, 0

    def secret(self, name: str, **values: str) -> None:
        space, _, own = name.partition("/")
        data = encoded({key.replace("_", "."): value.encode() for key, value in values.items()})
        metadata = {"name": own, "namespace": space}
        self.cluster.add({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})

    def workload(self, name: str, **more: Any) -> None:
        """Have a workload, of which all pods are ready."""
        space, kind, own = name.split("/")
        status = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), 2)
        manifest = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": own, "namespace": space}}
        self.cluster.add({**manifest, "spec": {"replicas": 2, **more}, "status": status})

    def pod(self, name: str, owner: str, secret: str, made: str = MADE) -> None:
        kind, _, own = owner.partition("/")
        space, _, name = name.partition("/")
        metadata: dict[str, Any] = {"name": name, "namespace": space, "creationTimestamp": made}
        metadata |= {"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": own, "uid": own}]}
        spec = {"containers": [{"name": "x", "envFrom": [{"secretRef": {"name": secret}}]}]}
        self.cluster.add({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def run(self, name: str, player: Callable[[], None], killed_at: int | None = None) -> list[str]:
        work, said = self.site.rotating(name, killed_at=killed_at)

        def confirm() -> None:
            player()
            work.waiting.confirm()

        structs.replace(work, waiting=structs.replace(work.waiting, confirm=confirm)).run()
        return said

    def whatever_happens(self, name: str, player: Callable[[], None]) -> list[str]:
        """Rotate, killed at every moment and begun again, and return what the last one said."""
        for moment in range(1, 9):
            with suppress(KilledError):
                self.run(name, player, killed_at=moment)
        return self.run(name, player)

    def held(self, name: str) -> dict[str, str]:
        return self.site.values(name)

    def another(self) -> str:
        self.count += 1
        return f"made {self.count}"


@pytest.fixture
def played(tmp_path: Path, ml50: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Played]:
    monkeypatch.setattr(syncs, "POLL", 0.01)
    monkeypatch.setattr(rotating, "TICK", 0.0)
    with living(tmp_path) as (cluster, running):
        found = begin(running, ml50, *SPACES)
        found.patience = 10.0
        yield Played(cluster, found)


class PlayedKueue:
    """Fills its Secret, trusts it a moment later, and is called by the new certificate once its pods began anew."""

    def __init__(self, played: Played) -> None:
        self.played, cluster = played, played.cluster
        played.secret(KUEUE, ca_crt="c", ca_key="k", tls_crt="c", tls_key="k")
        played.workload("kueue-system/Deployment/kueue-controller-manager")
        self.trust("c")
        self.pods, self.looks = "c", 0
        cluster.admits.append(self.called)

    def trust(self, ca: str) -> None:
        bundle = encoded({"": ca.encode()})[""]
        hooks = [{"name": name, "clientConfig": {"caBundle": bundle}} for name in ("a", "b")]
        for kind in ("Validating", "Mutating"):
            metadata = {"name": f"kueue-{kind.lower()}-webhook-configuration"}
            version = "admissionregistration.k8s.io/v1"
            whole = {"apiVersion": version, "kind": f"{kind}WebhookConfiguration", "metadata": metadata}
            self.played.cluster.add({**whole, "webhooks": hooks})

    def called(self, manifest: dict[str, Any]) -> None:
        held = self.played.cluster.get("Secret", "kueue-webhook-server-cert").get("data") or {}
        if manifest["kind"] == "ResourceFlavor" and encoded({"ca.crt": self.pods.encode()})["ca.crt"] != held.get(
            "ca.crt"
        ):
            raise Refusal(500, "InternalError", 'failed calling webhook "x": certificate signed by unknown authority')

    def __call__(self) -> None:
        held = self.played.held(KUEUE)
        if not held:
            new = self.played.another()
            self.played.secret(KUEUE, ca_crt=new, ca_key=f"{new} k", tls_crt=f"{new} c", tls_key=f"{new} t")
            return
        template = self.played.cluster.get("Deployment", "kueue-controller-manager")["spec"].get("template")
        self.looks += bool(template)
        if self.looks == TRUSTED:
            self.trust(held["ca.crt"])
        if self.looks == SERVED:
            self.pods = held["ca.crt"]

    def trusted(self) -> str:
        found = self.played.cluster.get("ValidatingWebhookConfiguration", "kueue-validating-webhook-configuration")
        return b64decode(found["webhooks"][0]["clientConfig"]["caBundle"]).decode()


def test_a_certificate_of_a_program_s_own_is_emptied_filled_trusted_and_served(played: Played) -> None:
    played.cluster.served["kueue.x-k8s.io/v1beta2"] = {"ResourceFlavor": False}
    kueue = PlayedKueue(played)
    said = played.run(KUEUE, kueue)
    assert [one for one in said if one.startswith("waits")] == [
        f"waits: kueue fills ca.crt, ca.key, tls.crt, tls.key of {KUEUE}",
        "waits: validatingwebhookconfigurations/kueue-validating-webhook-configuration trusts the new certificate",
        'waits: the webhook answers: failed calling webhook "x": certificate signed by unknown authority',
    ]
    held = played.held(KUEUE)
    assert kueue.trusted() == kueue.pods == held["ca.crt"] == "made 1"
    assert not played.cluster.get("ResourceFlavor", "asked"), "nothing is made"


def test_killed_wherever_it_stood_the_certificate_is_another_and_served(played: Played) -> None:
    played.cluster.served["kueue.x-k8s.io/v1beta2"] = {"ResourceFlavor": False}
    kueue = PlayedKueue(played)
    for moment in range(1, 12):
        kueue.looks = 0
        with suppress(KilledError):
            played.run(KUEUE, kueue, killed_at=moment)
    kueue.looks = 0
    played.run(KUEUE, kueue)
    assert kueue.trusted() == kueue.pods == played.held(KUEUE)["ca.crt"]


def test_a_workload_that_is_not_ready_is_waited_for(played: Played) -> None:
    played.secret(REDIS, auth="before")
    for name in ("Deployment/argocd-redis-ha-haproxy", "Deployment/argocd-repo-server", "Deployment/argocd-server"):
        played.workload(f"argocd/{name}")
    played.workload("argocd/StatefulSet/argocd-application-controller")
    played.workload("argocd/StatefulSet/argocd-redis-ha-server")
    server = played.cluster.get("Deployment", "argocd-server")
    server["status"]["updatedReplicas"] = 1

    looks = iter(range(100))

    def well() -> None:
        if next(looks) == SERVED:
            played.cluster.get("Deployment", "argocd-server")["status"]["updatedReplicas"] = 2

    assert "waits: Deployment/argocd-server in argocd: 1 of 2 pods are new and ready" in played.run(REDIS, well)
    assert played.held(REDIS)["auth"] != "before"


def test_servers_that_must_agree_end_together_and_none_twice(played: Played) -> None:
    """With other root keys than its peers' a server of MinIO joins nobody: one after the other none would be ready."""
    played.site.make(ROOT)
    played.workload("minio/StatefulSet/minio", updateStrategy={"type": "OnDelete"})
    played.cluster.get("StatefulSet", "minio")["status"]["updatedReplicas"] = 0
    for number in range(4):
        played.pod(f"minio/minio-{number}", "StatefulSet/minio", "minio-root", made=MADE if number else LATER)
    played.pod("minio/setup", "Job/minio-setup", "another")
    ended: list[set[str]] = []

    def ends() -> None:
        pods = {one["metadata"]["name"] for one in played.cluster.objects.values() if one["kind"] == "Pod"}
        ended.append(pods)

    before, proven = played.held(ROOT), []

    def proves() -> bool:
        ends()
        proven.append(played.held(ROOT))
        return True

    played.site.hooks["minio"] = proves
    with played.site.synced("minio"):
        played.run(ROOT, ends)
    held = played.held(ROOT)
    assert not set(held.values()) & set(before.values())
    assert proven == [held], "the setup ran with the new key, and it alone"
    assert ended[-1] == {"setup", "minio-0"}, "who began with the new value stays"


def token_of(account: dict[str, Any]) -> str:
    """As Kubernetes makes it (pkg/serviceaccount/legacy.go): of the account's id and the names of both."""
    return f"token of {account['metadata']['uid']}"


def argo_cd(played: Played, account: dict[str, str]) -> Callable[[], None]:
    """Play Argo CD, which makes what Git has again, and the controller of tokens."""

    def heals() -> None:
        cluster = played.cluster
        if ACCOUNT not in cluster.objects:
            cluster.objects.pop(f"/api/v1/namespaces/{TOKEN.replace('/', '/secrets/')}", None)
            manifest = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": dict(account)}
            cluster.add(manifest)
        elif not played.held(TOKEN):
            played.secret(TOKEN, token=token_of(cluster.objects[ACCOUNT]))

    return heals


def test_another_token_takes_another_account(played: Played) -> None:
    heals = argo_cd(played, {"name": "zabbix-reader", "namespace": "zabbix"})
    heals()
    heals()
    former = played.held(TOKEN)
    told: list[dict[str, str]] = []

    def tells() -> bool:
        told.append(played.held(TOKEN))
        return True

    played.site.hooks["zabbix"] = tells
    with played.site.synced("zabbix"):
        played.whatever_happens(TOKEN, heals)
    assert played.held(TOKEN) != former
    assert told[-1] == played.held(TOKEN), "Zabbix was told"


def test_the_same_token_again_is_no_other_one(played: Played) -> None:
    """Deleted alone, the Secret gets the token that it had: the account is the same."""
    heals = argo_cd(played, {"name": "zabbix-reader", "namespace": "zabbix", "uid": "kept"})
    heals()
    heals()
    with (
        played.site.synced("zabbix"),
        pytest.raises(UsageError, match=f"{TOKEN}: zabbix made it again with the values"),
    ):
        played.run(TOKEN, heals)


def jobs(played: Played) -> list[str]:
    return [place for place in played.cluster.objects if "/jobs/hubble-generate-certs-" in place]


def certgen(played: Played) -> Callable[[], None]:
    """Play the Job, which takes its time: it makes a CA where there is none, and signs all else anew."""
    done: set[str] = set()
    looks = iter(range(1000))

    def runs() -> None:
        for job in {*jobs(played)} - done if next(looks) % 4 == 3 else ():
            if not played.held(HUBBLE):
                played.secret(HUBBLE, ca_crt=(new := played.another()), ca_key=f"{new} k")
                return
            for name in ("hubble-server-certs", "hubble-relay-client-certs"):
                values = {"ca_crt": played.held(HUBBLE)["ca.crt"], "tls_crt": played.another(), "tls_key": "k"}
                played.secret(f"kube-system/{name}", **values)
            done.add(job)

    return runs


def hubble(played: Played) -> None:
    """Have Hubble's certificates and its CronJob."""
    played.secret(HUBBLE, ca_crt="c", ca_key="k")
    for name in ("hubble-server-certs", "hubble-relay-client-certs"):
        played.secret(f"kube-system/{name}", ca_crt="c", tls_crt="c", tls_key="k")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
    metadata = {"name": "hubble-generate-certs", "namespace": "kube-system"}
    cron = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": {"jobTemplate": template}}
    played.cluster.add(cron)


def test_a_ca_is_made_by_its_cron_job_which_signs_the_others_anew(played: Played) -> None:
    hubble(played)
    said = played.whatever_happens(HUBBLE, certgen(played))
    new = played.held(HUBBLE)["ca.crt"]
    assert new != "c"
    for name in ("hubble-server-certs", "hubble-relay-client-certs"):
        assert played.held(f"kube-system/{name}")["ca.crt"] == new
        assert f"/api/v1/namespaces/kube-system/secrets/{name}" not in [
            place for verb, place in played.cluster.writes if verb == "DELETE"
        ], "what the Job writes over is not deleted: that could come after it"
    job = played.cluster.objects[jobs(played)[0]]
    assert job["metadata"]["labels"] == {"a": "b"}
    assert job["spec"]["template"]["spec"] == {"restartPolicy": "OnFailure"}
    assert any("signed by the new cilium-ca" in one for one in said)


def test_without_its_cron_job_nothing_is_deleted(played: Played) -> None:
    hubble(played)
    del played.cluster.objects["/apis/batch/v1/namespaces/kube-system/cronjobs/hubble-generate-certs"]
    (why,) = plan(played.site.rotating(HUBBLE)[0], played.site.cluster).waiting
    assert why == (
        "there is no CronJob hubble-generate-certs in kube-system, which makes kube-system/cilium-ca: "
        "`gen sync cilium` first"
    )


def test_what_a_ca_signed_is_deleted_once_the_new_ca_is_there(played: Played) -> None:
    played.site = Site(played.site.running, load("gpu-serving"))
    leaf = "prometheus-adapter/prometheus-adapter"
    played.secret(ADAPTER, ca_crt="c", tls_crt="c", tls_key="k")
    played.secret(leaf, ca_crt="c", tls_crt="c", tls_key="k")
    played.workload("prometheus-adapter/Deployment/prometheus-adapter")
    stale = iter([played.held(ADAPTER)["ca.crt"]])

    def cert_manager() -> None:
        """It signs once more with the CA that it still knew."""
        if not played.held(ADAPTER):
            new = played.another()
            played.secret(ADAPTER, ca_crt=new, tls_crt=new, tls_key=f"{new} k")
        elif not played.held(leaf):
            ca = next(stale, played.held(ADAPTER)["ca.crt"])
            played.secret(leaf, ca_crt=ca, tls_crt=played.another(), tls_key="k")

    played.run(ADAPTER, cert_manager)
    assert played.held(leaf)["ca.crt"] == played.held(ADAPTER)["ca.crt"] != "c"
    deleted = [place for verb, place in played.cluster.writes if verb == "DELETE"]
    (secret,) = played.site.declare(ADAPTER)
    assert deleted == [path(secret), *[f"/api/v1/namespaces/prometheus-adapter/secrets/{leaf.partition('/')[2]}"] * 2]


def test_a_plan_names_what_ends_restarts_and_proves(played: Played) -> None:
    played.site.make(ROOT)
    found = plan(played.site.rotating(ROOT)[0], played.site.cluster)
    said = {one.step: one.what for one in found.steps}
    assert [*said] == ["values", "copies", "restart", "readers", "ready", "proof"]
    assert said["restart"] == "restarted, all pods at once: StatefulSet/minio in minio"
    assert said["proof"] == "synced, which proves that the new value counts: Application minio by its Job minio-setup"
    assert found.still == "everything that reads or writes MinIO, until all of its servers are ready again,"
    assert [*found.waiting] == ["there is no Application minio: `gen status` tells why"]
    hubble(played)
    values = plan(played.site.rotating(HUBBLE)[0], played.site.cluster).steps[0].what
    assert values == f"{HUBBLE} is deleted, and cilium makes it again by a Job of CronJob hubble-generate-certs"


ADMIN = "zabbix/zabbix-admin"


class PlayedZabbix:
    """What Zabbix takes as Admin's password: its Job changes it, where it can sign in."""

    def __init__(self, played: Played) -> None:
        self.played, self.taken = played, "before"
        played.secret(ADMIN, password="before")

    def signs_in(self) -> bool:
        held = self.played.held(ADMIN)
        if self.taken not in held.values():
            return False
        self.taken = held["password"]
        return True


@pytest.mark.parametrize("stolen", [False, True])
def test_a_password_that_takes_the_former_one_to_change_is_never_lost(*, played: Played, stolen: bool) -> None:
    zabbix = PlayedZabbix(played)
    played.site.hooks["zabbix"] = zabbix.signs_in
    seen = set()
    with played.site.synced("zabbix"):
        for moment in (*range(1, 9), None):
            with suppress(KilledError):
                played.site.rotating(ADMIN, killed_at=moment, stolen=stolen)[0].run()
            assert zabbix.taken in played.held(ADMIN).values(), moment
            seen.add(zabbix.taken)
    assert played.held(ADMIN) == {"password": zabbix.taken}
    assert len(seen) > 1


def test_of_one_that_is_handed_over_nothing_stands_still(played: Played) -> None:
    PlayedZabbix(played)
    found = plan(played.site.rotating(ADMIN)[0], played.site.cluster)
    assert (found.still, [one.step for one in found.steps]) == ("", ["values", "sync", "copies", "former"])
    assert found.steps[0].what.endswith("the former stays in formerPassword until the new one is taken")


def test_the_name_of_a_user_stays(played: Played) -> None:
    """Of a database it is the owner of all tables."""
    name, copy = "zabbix/zabbix-database", "zabbix-backup/zabbix-database"
    for one in (name, copy):
        played.secret(one, username="u", password="before")
    for one in ("StatefulSet/zabbix-database", "Deployment/zabbix-server", "Deployment/zabbix-web"):
        played.workload(f"zabbix/{one}")
    work = played.site.rotating(name)[0]
    found = plan(work, played.site.cluster)
    assert found.steps[0].what == f"password of {name}: a random value"
    assert "StatefulSet/zabbix-database in zabbix has no init container password" in found.waiting[0]
    template = {"spec": {"initContainers": [{"name": "password"}]}}
    played.cluster.get("StatefulSet", "zabbix-database")["spec"]["template"] = template
    assert [*plan(work, played.site.cluster).waiting] == ["there is no Application zabbix: `gen status` tells why"]
    with played.site.synced("zabbix"):
        work.run()
    held = played.held(name)
    assert held == played.held(copy)
    assert held["username"] == "u"
    assert held["password"] != "before"


def test_what_begins_anew_begins_in_a_later_second(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's clock counts seconds: of a pod of the same one nobody could tell what it read."""
    monkeypatch.setattr(rotating, "TICK", 1.1)
    at: list[float] = []
    played.secret(REDIS, auth="before")
    played.workload("argocd/Deployment/argocd-server")

    def restarted(one: dict[str, Any]) -> None:
        if one["kind"] in {"Secret", "Deployment"}:
            at.append(time.monotonic())

    played.cluster.reacts.append(restarted)
    played.run(REDIS, lambda: None)
    assert max(later - earlier for earlier, later in pairwise(at)) > 1.0


OWNER = "rook-ceph/rook-ceph-object-user-datasets-datasets-restore"


class PlayedRook:
    """Gives a user the keys that its object names, and takes all others away; where none is named, keeps the one that
    is left and writes it into the Secret, which has nothing of use before that.
    """

    def __init__(self, played: Played) -> None:
        self.played, self.counts = played, "A0"
        played.secret(OWNER, AccessKey="A0", SecretKey="S0", Endpoint="https://rgw")
        metadata = {"name": "datasets-restore", "namespace": "rook-ceph"}
        self.user = played.cluster.add(
            {"apiVersion": "ceph.rook.io/v1", "kind": "CephObjectStoreUser", "metadata": metadata, "spec": {}}
        )

    def __call__(self) -> None:
        user = self.played.cluster.get("CephObjectStoreUser", "datasets-restore")
        if keys := user["spec"].get("keys"):
            named = self.played.cluster.get("Secret", keys[0]["accessKeyRef"]["name"])
            self.keys = {key: b64decode(value).decode() for key, value in named["data"].items()}
            self.counts = self.keys["AccessKey"]
            user["status"] = {"keys": [{"name": named["metadata"]["name"], "uid": named["metadata"]["uid"]}]}
            self.write(AccessKey="", SecretKey="")
        elif (user.get("status") or {}).get("keys"):
            user["status"] = {"keys": []}
            self.write(**self.keys)

    def write(self, **values: str) -> None:
        held = self.played.cluster.get("Secret", OWNER.partition("/")[2])
        held["data"] |= encoded({key: value.encode() for key, value in values.items()})


def test_who_owns_buckets_gets_other_keys_and_is_not_deleted(played: Played) -> None:
    rook = PlayedRook(played)
    found = plan(played.site.rotating(OWNER)[0], played.site.cluster)
    assert found.still == "a restore that is under way"
    assert found.steps[0].what == (
        "datasets-restore (cephobjectstoreusers) is given other keys, and keeps its buckets; Rook writes them into "
        f"{OWNER}"
    )
    uid = rook.user["metadata"]["uid"]
    said = played.run(OWNER, rook)
    held = played.held(OWNER)
    assert held["AccessKey"] == rook.counts != "A0"
    assert (held["Endpoint"], held["SecretKey"]) == ("https://rgw", rook.keys["SecretKey"])
    user = played.cluster.get("CephObjectStoreUser", "datasets-restore")
    assert (user["metadata"]["uid"], user["spec"].get("keys")) == (uid, None)
    assert not [one for one in played.cluster.objects if one.endswith("-next")]
    assert [one for one in said if held["SecretKey"] in one] == []
    assert f"values {OWNER} has other values: ceph-cluster wrote it" in said


def test_keys_of_an_owner_are_whole_wherever_it_was_killed(played: Played) -> None:
    rook = PlayedRook(played)
    played.whatever_happens(OWNER, rook)
    assert played.held(OWNER)["AccessKey"] == rook.counts != "A0"
    assert not [one for one in played.cluster.objects if one.endswith("-next")]


def test_where_rook_is_away_an_owner_keeps_its_keys_and_it_goes_on_with_the_same(played: Played) -> None:
    rook = PlayedRook(played)
    played.site.patience = 0.1
    with pytest.raises(UsageError, match="it still waits: Rook gives datasets-restore other keys"):
        played.run(OWNER, lambda: None)
    assert played.held(OWNER)["AccessKey"] == "A0"
    coming = played.cluster.get("Secret", f"{OWNER.partition('/')[2]}-next")["data"]
    played.site.patience = 10.0
    played.run(OWNER, rook)
    assert encoded({"": played.held(OWNER)["AccessKey"].encode()})[""] == coming["AccessKey"]
