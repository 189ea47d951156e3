"""Which name was meant."""

import pytest
from manifests import built, manifest, ml50
from msgspec import structs

from generator.rules.mentions import Target
from generator.rules.providers import Known, Unseen


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("minoi", None),
        ("minio-servers", "minio-server"),
        ("mino-serer", "minio-server"),
        ("minio-client", None),
        ("argocd-application-controller", None),
        ("x", None),
    ],
)
def test_only_a_name_one_or_two_letters_away_was_meant(name: str, meant: str | None) -> None:
    names = ("minio-server", "argocd-applicationset-controller", "y")
    known = Known.of(built(*(manifest("Service", name=one) for one in names)))
    target = Target("Service", str(manifest("Service")["metadata"]["namespace"]), name)
    assert known.meant(target) == meant


def test_nothing_is_meant_where_there_is_nothing() -> None:
    assert Known.of(built()).meant(Target("Service", "x", "minio")) is None


def test_what_is_remote_may_be_anything() -> None:
    target = Target("Service", "somewhere", "x")
    within = built(cluster=ml50())
    assert not Unseen.of(within).brings(target)
    assert Unseen.of(structs.replace(within, remote=("",))).brings(target)
