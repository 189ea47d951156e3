"""What a Kubernetes serves; the real API server's own word on 1.35 is in tests/real/test_check_server.py."""

import pytest

from generator.model.served import FIRST, LAST, api_list, kinds, minor_of, versions

KNOWN = range(FIRST, LAST + 1)


@pytest.mark.parametrize("minor", KNOWN)
def test_only_stable_versions_are_served_by_default(minor: int) -> None:
    assert not [version for version in versions(minor) if "alpha" in version or "beta" in version]
    assert {"v1", "apps/v1", "batch/v1", "autoscaling/v2"} <= set(versions(minor))


@pytest.mark.parametrize("minor", KNOWN)
def test_everything_is_in_order(minor: int) -> None:
    assert list(versions(minor)) == sorted(versions(minor))
    assert list(api_list(minor)) == sorted(set(api_list(minor)))


@pytest.mark.parametrize(
    ("version", "kind", "since"),
    [
        ("resource.k8s.io/v1", "ResourceClaim", 34),
        ("storage.k8s.io/v1", "VolumeAttributesClass", 34),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", 36),
    ],
)
def test_a_kind_is_served_since_its_minor(version: str, kind: str, since: int) -> None:
    assert [minor for minor in KNOWN if kind in kinds(minor).get(version, {})] == list(range(since, LAST + 1))


def test_scopes_are_told() -> None:
    assert kinds(35)["v1"]["Pod"] is True
    assert kinds(35)["v1"]["Namespace"] is False
    assert kinds(35)["rbac.authorization.k8s.io/v1"] == {
        "Role": True,
        "RoleBinding": True,
        "ClusterRole": False,
        "ClusterRoleBinding": False,
    }


def test_an_unknown_minor_is_taken_for_the_nearest_known_one() -> None:
    assert kinds(FIRST - 2) == kinds(FIRST)
    assert kinds(LAST + 7) == kinds(LAST)
    assert kinds(LAST) != kinds(FIRST)


def test_helm_is_told_versions_and_kinds() -> None:
    told = api_list(35)
    assert {"v1", "v1/Pod", "apps/v1", "apps/v1/Deployment"} <= set(told)
    assert len(told) == len(versions(35)) + sum(len(own) for own in kinds(35).values())


@pytest.mark.parametrize(("version", "minor"), [("1.35.3", 35), ("1.4.0", 4), ("1." + "9" * 5000 + ".0", 999999999)])
def test_a_minor_is_read_from_a_version(version: str, minor: int) -> None:
    assert minor_of(version) == minor


@pytest.mark.parametrize("version", ["1.35.3", "v1.35.3", "v1.35.3-eks-1", "1.35", f"1.35.{'9' * 5000}"])
def test_the_minor_is_read_from_what_files_and_servers_say(version: str) -> None:
    assert minor_of(version) == 35
