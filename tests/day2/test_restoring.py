"""What is asked of a restore, and what is told of what came of it."""

from datetime import UTC, datetime

import pytest
from msgspec import structs

from generator.day2.workflows.logs import Printed
from generator.day2.workflows.restoring import Switch, meant, plan, restore, verdict
from generator.errors import UsageError
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.teams import TeamBucket

NOW = datetime(2026, 11, 23, 4, 0, tzinfo=UTC)


def test_a_backup_is_meant_by_its_name_or_its_bucket(ml50: Cluster) -> None:
    (first, second) = ml50.ceph_backups
    named = structs.replace(ml50, backups=(structs.replace(first, name="nightly"), second))
    assert meant(named, "nightly").source.bucket == meant(named, "datasets").source.bucket == "datasets"


def test_a_bucket_with_several_backups_must_be_named_by_one(ml50: Cluster) -> None:
    first = ml50.backups[0]
    several = tuple(structs.replace(first, name=name) for name in ("daily", "weekly"))
    with pytest.raises(UsageError, match="datasets has several backups: name one of daily, weekly"):
        meant(structs.replace(ml50, backups=several), "datasets")
    with pytest.raises(UsageError, match="datasets has several backups: some share a name, so rename one"):
        meant(structs.replace(ml50, backups=(first, first)), "datasets")
    with pytest.raises(UsageError, match=r"there are backups of datasets$"):
        meant(structs.replace(ml50, backups=several), "zzz")


def test_a_time_is_read_in_its_zone(ml50: Cluster) -> None:
    one = restore(ml50, "datasets", NOW, at="2026-11-20T08:00:00+09:00", into=None, switch="none")
    assert (one.parameters["at"], one.into) == ("2026-11-19T23:00:00Z", "datasets-restored-20261119")


def test_a_bucket_of_minio_comes_back_into_one_that_its_user_may_make(ml50: Cluster) -> None:
    one = restore(ml50, "models", NOW, at=None, into=None, switch="missing")
    lines = "\n".join(plan(ml50, one, NOW))
    assert "models-restored-20261123 of MinIO" in lines
    assert "ml50-models of offsite" in lines
    with pytest.raises(UsageError, match=r"only a bucket `models-restored-\.\.\.` may be made for it"):
        restore(ml50, "models", NOW, at=None, into="other", switch="none")
    assert restore(ml50, "datasets", NOW, at=None, into="other", switch="none").into == "other"


@pytest.mark.parametrize(
    ("lines", "good", "told"),
    [
        (
            [("verify(0)", "T0 3 objects"), ("verify(0)", "T1 4 objects"), ("switch(0)", "T2 1 is back")],
            True,
            ["4 objects", "1 is back"],
        ),
        (
            [("verify(0)", "T0 missing: a"), ("verify(0)", "T1 FAILED: 1 objects are not there")],
            False,
            ["verify(0): FAILED: 1 objects are not there"],
        ),
        (
            [("copy(0)", "T0 error: cannot copy a"), ("copy(1)", "T1 error: cannot copy b")],
            False,
            ["copy(1): error: cannot copy b"],
        ),
        ([], False, []),
    ],
)
def test_the_verdict_is_what_the_steps_said_last(lines: list[tuple[str, str]], *, good: bool, told: list[str]) -> None:
    assert list(verdict([Printed(*one) for one in lines], good=good)) == told


@pytest.mark.parametrize(("switch", "told"), [("none", False), ("missing", True), ("all", True)])
def test_a_switch_of_a_team_s_bucket_says_whose_keys_it_waits_for(ml50: Cluster, switch: Switch, told: bool) -> None:  # noqa: FBT001 - a case
    bucket = TeamBucket(name="datasets", store="datasets", size=Quantity.parse("1Ti"))
    team = structs.replace(ml50.teams[0], buckets=(bucket,))
    asked = restore(ml50, "datasets", NOW, at=None, into=None, switch=switch)
    lines = "\n".join(plan(structs.replace(ml50, teams=(team,)), asked, NOW))
    assert ("copy Secret ceph-bucket-datasets from namespace vision to rook-ceph" in lines) == told
    assert "copy Secret" not in "\n".join(plan(ml50, asked, NOW))
