import pytest

from generator.spec.near import near

KEYS = ["podCIDR", "podCIDR6", "serviceCIDR", "nodeMask", "maxPods", "loadBalancer", "hcas"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("podCidr", "podCIDR"),
        ("pod_cidr", "podCIDR"),
        ("pod-CIDR", "podCIDR"),
        ("podcidr6", "podCIDR6"),
        ("servceCIDR", "serviceCIDR"),
        ("loadbalancers", "loadBalancer"),
        ("hca", "hcas"),
    ],
)
def test_a_mistyped_word_is_recognised(word: str, meant: str) -> None:
    assert near(word, KEYS) == meant


@pytest.mark.parametrize("word", ["", "colour", "x", "--", "k" * 10_000])
def test_a_word_that_is_like_none_is_left_alone(word: str) -> None:
    assert near(word, KEYS) is None


def test_nothing_is_near_where_nothing_is_known() -> None:
    assert near("podCIDR", []) is None
