"""Amounts, held against what apimachinery's own CanonicalizeBytes writes for the same text (0.35.3)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.model.quantity import Quantity

# Written by apimachinery for each text, with the whole number it rounds up to.
KUBERNETES = """\
0 0 0
0Gi 0 0
0m 0 0
001 1 1
1 1 1
999 999 999
1000 1k 1000
1024 1024 1024
100000 100k 100000
1048576 1048576 1048576
0.5 500m 1
0.001 1m 1
0.1 100m 1
1.50 1500m 2
1500m 1500m 2
1000m 1 1
100000m 100 100
1500000m 1500 1500
1.5k 1500 1500
1.0005k 1000500m 1001
1G 1G 1000000000
1024G 1024G 1024000000000
7680G 7680G 7680000000000
20T 20T 20000000000000
1000P 1E 1000000000000000000
9E 9E 9000000000000000000
9223372036854775807 9223372036854775807 9223372036854775807
1Ki 1Ki 1024
0.5Ki 512 512
0.9765625Ki 1k 1000
1.0005Ki 1024512m 1025
1000Ki 1000Ki 1024000
1023Ki 1023Ki 1047552
1024Ki 1Mi 1048576
1000000Ki 1000000Ki 1024000000
0.25Mi 256Ki 262144
1.5Mi 1536Ki 1572864
1024Mi 1Gi 1073741824
0.1Gi 107374182400m 107374183
0.5Gi 512Mi 536870912
1.1Gi 1181116006400m 1181116007
1.5Gi 1536Mi 1610612736
12Gi 12Gi 12884901888
1.5Ti 1536Gi 1649267441664
1024Pi 1Ei 1152921504606846976
7Ei 7Ei 8070450532247928832
"""
CASES = [line.split() for line in KUBERNETES.splitlines()]
TEXTS = st.builds(
    lambda number, unit: f"{number}{unit}",
    st.integers(0, 10**6) | st.decimals(0, 10**4, places=3).map(lambda each: f"{each:f}"),
    st.sampled_from(["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]),
)


def parsed(text: str) -> Quantity | None:
    try:
        return Quantity.parse(text)
    except ValueError:
        return None


@pytest.mark.parametrize(("text", "canonical", "value"), CASES, ids=str)
def test_it_is_written_as_kubernetes_writes_it(text: str, canonical: str, value: str) -> None:
    quantity = Quantity.parse(text)
    assert str(quantity) == canonical
    assert quantity.value == int(quantity) == int(value)


@given(TEXTS)
def test_what_is_written_is_read_as_the_same(text: str) -> None:
    quantity = parsed(text)
    if quantity is not None:
        again = Quantity.parse(str(quantity))
        assert again == quantity
        assert str(again) == str(quantity)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1Gi\n",
        "-1",
        "+1",
        "1.",
        ".5",
        "1e3",
        "1GB",
        "1gi",
        "1K",
        "1n",
        "1,5",
        "Gi",
        "\u0661",
        "1" * 25,
        True,
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an amount such as 128, 500m or 1\.5Ti"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["0.0001", "0.5m", "0.0001Ki"])
def test_less_than_a_thousandth_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="finer than a thousandth"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["8Ei", "8192Pi", "9223372036854775808", "10E"])
def test_what_kubernetes_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="more than Kubernetes can hold"):
        Quantity.parse(text)


def test_numbers_are_read_as_well() -> None:
    assert Quantity.parse(128) == Quantity.parse("128") == Quantity.of(128)


def test_whole_numbers_are_made_in_either_style() -> None:
    assert str(Quantity.of(2**30)) == "1073741824"
    assert str(Quantity.of(2**30, binary=True)) == "1Gi"
    assert str(Quantity.of(10**9)) == "1G"
    assert str(Quantity.of(1000, binary=True)) == "1k"
    assert str(Quantity.of(0, binary=True)) == "0"


def test_equal_amounts_are_equal_however_they_are_written() -> None:
    assert Quantity.parse("1Ki") == Quantity.parse("1024")
    assert hash(Quantity.parse("1Ki")) == hash(Quantity.parse("1024"))
    assert Quantity.parse("1") != Quantity.parse("1Ki")
    assert Quantity.parse("1") != "1"


def test_amounts_have_an_order() -> None:
    ordered = [Quantity.parse(each) for each in ("0", "1m", "1", "1k", "1Ki", "1M", "1Mi", "1G", "1Gi")]
    assert all(less < more for less, more in pairwise(ordered))
    assert max(ordered) == ordered[-1]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (2**40, "1 TiB"),
        (1300 * 2**40, "1.27 PiB"),
        (5000 * 2**50, "5000 PiB"),
    ],
)
def test_people_read_three_digits(value: int, words: str) -> None:
    assert Quantity.of(value).human() == words


def test_it_shows_itself() -> None:
    assert repr(Quantity.parse("1024Mi")) == "Quantity(1Gi)"
