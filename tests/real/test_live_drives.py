"""Drives of MinIO changed, and a server pool more for it, by the operations as rendered, with real pods (livesite.py).
Who asks MinIO is real as well, and so are its servers (minioserved.py): only the nodes that these are on are simulated.
"""

from collections.abc import Iterator

import pytest
from auditing import betrayed, stored, unused, written
from livesite import Site
from miniopods import PODS
from minioserved import Served, serving
from nodesteps import NODES
from reference import load
from test_minio_drives import DRIVES, SERVERS, few_drives
from test_minio_expansion import NEW, OLD, grown

from generator.components.common import OBJECTS
from generator.components.node_operations.names import DRIVE_REPLACEMENT, MINIO_EXPANSION, NAMESPACE

pytest_plugins = ["apiserver"]
pytestmark = pytest.mark.twin

NODE, SERVER = "nas-2", "minio-1"
NAMES = [f"object-{number}" for number in range(20)]
RECORDS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
STUCK = {"metadata": {"annotations": {"twin.test/stuck": "1"}}}
"""Lets a pod end only when the test says so."""


@pytest.fixture(scope="module")
def minio(site: Site) -> Iterator[Served]:
    """MinIO with objects, on its nodes."""
    for name in OLD:
        site.steps.join(name)
    with serving(site, few_drives(load("ml50"))) as made:
        assert made.asks("mb", "s/data").returncode == 0
        for name in NAMES:
            assert made.asks("pipe", f"s/data/{name}", text=name * 1000).returncode == 0
        yield made


def test_what_preflight_refuses_is_reported_and_not_tried_again(site: Site, minio: Served) -> None:
    """One of those that need no word of MinIO, and what it says itself. The others are in test_minio_replacement.py."""
    seventh = site.begin("drive-replacement", NODE, "-p", "drive=7")
    site.refused({f"{NODE} has {DRIVES} drives of MinIO, and none with the number 7": seventh})
    with minio.without(2):
        run = site.begin("drive-replacement", NODE, "-p", "drive=0")
        site.refused({f"of {SERVERS * DRIVES} drives": run})
    assert "minio-2.minio-hl.minio.svc" in site.said(run)
    assert "nothing was changed" in site.said(run)
    assert site.api.get(f"{RECORDS}/drive-replacement-{NODE}") is None


def test_a_drive_is_changed_though_the_run_is_killed_while_its_server_ends_and_while_it_heals(
    site: Site, minio: Served
) -> None:
    former = minio.changed(NODE, 0)
    pod = f"{PODS}/{SERVER}"
    uid = site.api.get(pod)["metadata"]["uid"]
    site.steps.patch(pod, STUCK)
    run = site.begin("drive-replacement", NODE, "-p", "drive=0")
    site.until("its server is to end", lambda: "deletionTimestamp" in site.api.get(pod)["metadata"])
    run = site.killed(run)
    assert site.api.get(pod)["metadata"]["uid"] == uid
    site.api.request("DELETE", f"{pod}?gracePeriodSeconds=0")
    site.until("MinIO is asked for its new drive", lambda: site.step(run, "heal") == "Running")
    run = site.killed(run)
    said = site.good(run)
    assert "healed: " in said
    assert f"read {len(NAMES)} objects as they were written" in said
    assert f"drive-replacement of drive 0 on {NODE}: Succeeded" in said
    for name in NAMES:
        parts = [len(list((one / "data" / name).rglob("*"))) for one in (former, minio.drive(NODE, 0))]
        assert parts[0] == parts[1], name
    assert site.api.get(f"{RECORDS}/drive-replacement-{NODE}") is None


def test_minio_grows_though_the_run_is_killed_while_a_server_ends(site: Site, minio: Served) -> None:
    cluster = grown(minio.cluster)
    minio.bring(cluster)
    run = site.begin("minio-expansion")
    site.refused({"minio-nas-2-0, minio-nas-2-1, minio-nas-2-2, minio-nas-2-3 of MinIO does not run": run})
    assert "nothing was changed" in site.said(run)
    for name in NEW:
        site.steps.join(name, taints=[{"key": OBJECTS, "value": "present", "effect": "NoSchedule"}])
        site.steps.patch(f"{NODES}/{name}", {"metadata": {"labels": {OBJECTS: "true"}}})
    site.until("all servers began", lambda: len(minio.programs) == 2 * SERVERS)
    before = dict(minio.uids)
    site.steps.patch(f"{PODS}/minio-2", STUCK)
    run = site.begin("minio-expansion")
    site.until("all but one began anew", lambda: len({*before.values()} & {*minio.uids.values()}) == 1)
    after = dict(minio.uids)
    run = site.killed(run)
    site.reaches(run, "whole")
    site.api.request("DELETE", f"{PODS}/minio-2?gracePeriodSeconds=0")
    said = site.good(run)
    assert "all drives of all pools are good" in said
    assert "minio-expansion: Succeeded" in said
    assert {number for number, uid in minio.uids.items() if uid != after[number]} == {2}, "a server ended twice"
    assert [one for one in NAMES if minio.asks("cat", f"s/data/{one}").stdout != one * 1000] == []


def test_no_right_is_unused_and_none_is_missing(site: Site, minio: Served) -> None:
    """After all others."""
    assert minio.programs
    accounts = [f"{NAMESPACE}:{name}" for name in (DRIVE_REPLACEMENT, MINIO_EXPANSION)]
    # A record is changed only where MinIO does not take the drive; `test_minio_replacement` has it so.
    beside = [
        one for one in unused(site.api, site.folder, *accounts) if (one.verb, one.resource) != ("patch", "configmaps")
    ]
    assert beside == []


def test_no_key_and_no_token_is_told(site: Site, minio: Served) -> None:
    """After all others. A certificate is no secret."""
    keys = [value for name, kept in minio.keys.items() if name != "minio-tls" for value in kept.values()]
    keys.append(minio.keys["minio-tls"]["tls.key"])
    assert betrayed([*stored(site.api), *written(site.folder)], keys) == []
