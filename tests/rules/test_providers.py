"""Which name was meant."""

import pytest
from manifests import built, manifest, ml50
from msgspec import structs

from generator.rules.mentions import Reference
from generator.rules.providers import Providers, UnseenObjects


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
    providers = Providers.of(built(*(manifest("Service", name=one) for one in names)))
    target = Reference("Service", str(manifest("Service")["metadata"]["namespace"]), name)
    assert providers.closest_name(target) == meant


def test_nothing_is_meant_where_there_is_nothing() -> None:
    assert Providers.of(built()).closest_name(Reference("Service", "x", "minio")) is None


def test_what_is_remote_may_be_anything() -> None:
    target = Reference("Service", "somewhere", "x")
    within = built(cluster=ml50())
    assert not UnseenObjects.of(within).may_hold(target)
    assert UnseenObjects.of(structs.replace(within, remote=("",))).may_hold(target)


def test_alternatives_of_one_name_have_the_keys_of_all() -> None:
    one, other = (manifest("ConfigMap", data={key: "x"}) for key in ("a", "b"))
    target = Reference("ConfigMap", "tools", "x")
    found = Providers.of(built(one, other)).provider(target)
    assert found
    assert found.keys == frozenset({"a", "b"})


def test_claims_are_bound_to_volumes_that_people_make_by_hand() -> None:
    """As in Kubernetes' own tutorial: nobody makes the class `manual`."""
    volume = manifest("PersistentVolume", spec={"storageClassName": "manual"})
    target = Reference("StorageClass", "", "manual")
    assert Providers.of(built(volume)).provider(target)
    assert not Providers.of(built(volume, component="minio")).provider(target)
