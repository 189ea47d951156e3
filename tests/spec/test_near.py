import pytest

from generator.spec.near import did_you_mean, letters_apart, misnamed, near, nearest, slip, suggest, there_are

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


def test_the_likeliest_words_come_first() -> None:
    assert nearest("podCIDR", KEYS, 2) == ["podCIDR", "podCIDR6"]
    assert nearest("podCIDR6", KEYS, 2) == ["podCIDR6", "podCIDR"]


@pytest.mark.parametrize("word", ["rbd-nmve", "rbdnvme", "rbd-nvm", "rbd-nvmee", "rbd-nvne", "rdb-nvme"])
def test_a_slip_is_a_letter_or_some_that_are_swapped(word: str) -> None:
    assert slip(word, ["rbd-hdd", "rbd-nvme"]) == "rbd-nvme"


@pytest.mark.parametrize("word", ["rbd-nvme-2", "rbd-nvme2", "rbd-ssd", "rbd-nvme-fast", "local"])
def test_another_name_is_no_slip_however_near(word: str) -> None:
    assert slip(word, ["rbd-hdd", "rbd-nvme"]) is None


@pytest.mark.parametrize(
    ("other", "letters"),
    [("minio", 0), ("mino", 1), ("minioo", 1), ("minia", 1), ("minoi", 2), ("mio", 2), ("", 5)],
)
def test_letters_that_are_wrong_are_counted(other: str, letters: int) -> None:
    assert (letters_apart("minio", other), letters_apart(other, "minio")) == (letters, letters)


def test_without_a_near_name_the_other_fix_is_given() -> None:
    assert suggest("gpu-trainig", ["gpu-training", "cpu"], "one of them") == "did you mean gpu-training?"
    assert suggest("zzz", ["gpu-training", "cpu"], "one of them") == "one of them"


def test_a_hint_is_written_as_the_place_wants_it() -> None:
    assert suggest("hca", KEYS, "", "`{}`") == "did you mean `hcas`?"
    assert suggest("hca", KEYS, "", "{}/{x}{}") == "did you mean hcas/{x}{}?"
    assert did_you_mean("hcas", "maxPods") == "did you mean hcas, maxPods?"


def test_no_two_names_stand_for_one() -> None:
    found = dict(misnamed({"hcas": 0, "hca": 1, "maxPod": 2, "maxpods": 3}, KEYS))
    assert {word: near(word, free) for word, free in found.items()} == {
        "hca": None,
        "maxPod": "maxPods",
        "maxpods": None,
    }


@pytest.mark.parametrize(
    ("names", "said"), [((), "there is none"), (("a",), "there is only a"), (("a", "b"), "there are a, b")]
)
def test_what_there_is_is_listed_as_people_say_it(names: tuple[str, ...], said: str) -> None:
    assert there_are(names) == said
