"""A team's volumes on a real node: claimed, written by a pod, backed up by VolSync from a snapshot as gen renders it,
to MinIO and elsewhere, lost, and brought back by `gen restore` and by the operation; the real workflow controller runs
that, and the drills.
"""

import json
import time
from collections.abc import Iterator

import pytest
from auditing import betrayed, stored, unused, written
from documented import as_administrator, blocks
from onenode.site import run_of
from onenode.volume_site import ACCOUNTS, BOTH, SHARED, Site, serving_volumes
from volsyncsite import sources_of
from volumebackups import HOME

from generator.components import compose
from generator.components.volsync.names import NAMESPACE
from generator.components.workflows.drill import GOOD, NEWEST
from generator.model.backup import VolumeBackup
from generator.rehearsal.twin.plane import ADMIN

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

TEAM = "vision"
SPACE = f"/api/v1/namespaces/{TEAM}"
SOURCES = f"/apis/volsync.backube/v1alpha1/namespaces/{TEAM}/replicationsources"
SNAPSHOTS = f"/apis/snapshot.storage.k8s.io/v1/namespaces/{TEAM}/volumesnapshots"
DESTINATIONS = f"/apis/volsync.backube/v1alpha1/namespaces/{TEAM}/replicationdestinations"
JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"
CLAIMS, VOLUMES = f"{SPACE}/persistentvolumeclaims", "/api/v1/persistentvolumes"
WORKFLOWS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflows"
WRITE = """
cd /data
mkdir -p 'run 1/ä'
for number in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/urandom >"run 1/ä/part $number"; done
head -c 30000000 /dev/urandom >checkpoint.pt
: >empty
ln -s checkpoint.pt latest
chmod 600 checkpoint.pt
sync
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving_volumes() as made:
        yield made


@pytest.mark.parametrize(("one", "mode"), [(HOME, "ReadWriteOnce"), (SHARED, "ReadWriteMany")], ids=["block", "files"])
def test_a_volume_is_backed_up_from_its_snapshot(site: Site, one: VolumeBackup, mode: str) -> None:
    live = one.source.claim
    claim(site, one, mode)
    site.write(live, WRITE)
    held = site.held(live)
    assert len(held) == 11
    made = {component.name: component for component in compose(site.cluster)}
    (source,) = [each for each in sources_of(made, TEAM) if each["metadata"]["name"] == one.name]
    site.api.apply(source)
    path = f"{SOURCES}/{one.name}"

    def ended() -> bool:
        status = (site.api.get(path) or {}).get("status", {})
        return bool(status.get("lastSyncTime"))

    site.api.wait(f"{one.name} is backed up", ended)
    told = site.api.get(path)["status"]["latestMoverStatus"]
    assert (told["result"], site.held(live)) == ("Successful", held)
    site.api.wait("the snapshot is gone", lambda: not site.api.items(SNAPSHOTS))
    site.write(live, "rm -r '/data/run 1'; printf lost >/data/checkpoint.pt")
    assert site.held(live) != held


def test_the_command_brings_a_volume_back(site: Site) -> None:
    done = site.restore(HOME.name, "--into", "again")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as the backup has it, file by file" in done.stdout
    held = site.held("again")
    assert len(held) == 11
    assert held != site.held(HOME.source.claim)


def test_a_workflow_brings_a_volume_back_and_the_command_goes_on_with_it(site: Site) -> None:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    done = site.submit(f"restore-{SHARED.name}", "-p", "into=back", "-p", f"at={at}")
    said = done.stdout + site.logs(run_of(done))
    assert done.returncode == 0, said
    assert "claim back is as the backup has it, file by file" in said
    held = site.held("back")
    assert len(held) == 11
    assert held != site.held(SHARED.source.claim)
    again = site.restore(SHARED.name, "--into", "back", "--at", at)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "as the backup has it, file by file" in again.stdout
    taken = site.submit(f"restore-{SHARED.name}", "-p", f"into={SHARED.source.claim}")
    assert taken.returncode == 1, taken.stdout
    assert f"{SHARED.source.claim} is the live claim" in site.logs(run_of(taken))


@pytest.mark.parametrize(("one", "into"), [(HOME, "again"), (SHARED, "back")], ids=["block", "files"])
def test_the_claims_name_can_lead_to_the_volume_that_came_back(site: Site, one: VolumeBackup, into: str) -> None:
    """By the commands of operations.md, as they stand there: both volumes are kept, and the claim is made again."""
    name, held, lost = one.source.claim, site.held(into), site.held(one.source.claim)
    claims = [site.api.get(f"{CLAIMS}/{each}") for each in (name, into)]
    old, new = (each["spec"]["volumeName"] for each in claims)
    (script,) = [each for each in blocks("operations.md", "sh") if "home-of-friday" in each and "claimRef" in each]
    script = script.replace("home-of-friday", into).replace("home", name)
    (folder := site.folder / "typed").mkdir(exist_ok=True)
    done = as_administrator(script, site.api.address.kubeconfig(ADMIN), folder)
    assert done.returncode == 0, done.stdout + done.stderr
    site.api.wait("it is bound", lambda: site.api.get(f"{CLAIMS}/{name}")["status"]["phase"] == "Bound")
    volumes = [site.api.get(f"{VOLUMES}/{each}") for each in (old, new)]
    assert [each["spec"]["persistentVolumeReclaimPolicy"] for each in volumes] == ["Retain", "Delete"]
    assert [each["status"]["phase"] for each in volumes] == ["Released", "Bound"]
    assert (site.held(name), site.kept(old)) == (held, lost)
    gone = (f"{CLAIMS}/{into}", f"{DESTINATIONS}/{into}", f"{JOBS}/compare-{claims[1]['metadata']['uid']}")
    assert [path for path in gone if site.api.get(path)] == []


def tried(site: Site, one: VolumeBackup) -> tuple[bool, str]:
    """Run the drill of a backup; return whether it was good, and its log."""
    done = site.submit(f"drill-{one.name}")
    run = run_of(done)
    found = site.api.get(f"{WORKFLOWS}/{run}")
    assert "MetricsError" not in {each["type"] for each in found["status"]["conditions"]}
    return done.returncode == 0, done.stdout + site.logs(run)


def test_drills_prove_both_backups(site: Site) -> None:
    """Follows the test before: both volumes are backed up."""
    for one in BOTH:
        good, said = tried(site, one)
        assert good, said
        assert "all are as they were backed up" in said
        assert site.measured(GOOD, one) == 1
        assert (site.measured(NEWEST, one) or 0) > 0


def test_a_drill_of_a_damaged_backup_fails(site: Site) -> None:
    before = site.measured(NEWEST, SHARED)
    damage(site, SHARED)
    good, said = tried(site, SHARED)
    assert not good, said
    assert "FAILED: restic found damage in the repository" in said
    assert site.measured(GOOD, SHARED) == 0
    assert site.measured(NEWEST, SHARED) == before


def test_no_right_is_unused_and_none_is_missing(site: Site) -> None:
    """After all others: drills and restores that went well, and that failed."""
    assert unused(site.api, site.folder, *ACCOUNTS) == set()


def test_no_secret_is_told(site: Site) -> None:
    """After all others: in no parameter, result, log, annotation or event of all these runs."""
    places = [*stored(site.api), *written(site.folder)]
    for where, words in (
        ("pod-logs/", "all are as they"),
        ("/workflows", "too-old"),
        ("/replicationsources", "offsite"),
    ):
        assert any(where in place and words in text for place, text in places), where
    assert betrayed(places, site.secrets) == []


def damage(site: Site, one: VolumeBackup) -> None:
    """Change one bit of the largest pack of a repository."""
    place = f"s/{one.target.bucket}/{one.prefix}/data/"
    listed = map(json.loads, site.mc(one, "--json", "ls", "--recursive", place).splitlines())
    key, pack = max(listed, key=lambda each: each["size"])["key"], site.folder / "pack"
    site.mc(one, "cp", f"{place}{key}", str(pack))
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    pack.write_bytes(content)
    site.mc(one, "cp", str(pack), f"{place}{key}")


def claim(site: Site, one: VolumeBackup, mode: str) -> None:
    site.api.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": one.source.claim, "namespace": TEAM},
            "spec": {
                "accessModes": [mode],
                "storageClassName": one.source.storage_class,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )
