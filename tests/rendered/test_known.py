"""Which name was meant."""

import pytest
from manifests import built, manifest

from generator.rendered.known import Known
from generator.rendered.target import Target


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
