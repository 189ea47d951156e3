from ipaddress import IPv4Address

import pytest

from generator.model.text import AddressRange, Port, Taint


@pytest.mark.parametrize(
    ("text", "key", "value", "effect"),
    [
        ("nvidia.com/gpu=present:NoSchedule", "nvidia.com/gpu", "present", "NoSchedule"),
        ("a:NoExecute", "a", "", "NoExecute"),
        ("a=:PreferNoSchedule", "a", "", "PreferNoSchedule"),
    ],
)
def test_a_taint_is_read_as_kubectl_takes_it(text: str, key: str, value: str, effect: str) -> None:
    taint = Taint.parse(text)
    assert (taint.key, taint.value, taint.effect) == (key, value, effect)
    assert Taint.parse(str(taint)) == taint


@pytest.mark.parametrize(
    "text", ["", "a", "a=b", "a=b:", "a=b:noschedule", ":NoSchedule", "a=b c:NoExecute", "a:NoExecute\n"]
)
def test_what_is_no_taint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a taint such as"):
        Taint.parse(text)


def test_a_port_is_a_switch_and_a_number() -> None:
    port = Port.parse("ib-leaf-1/12")
    assert (port.switch, port.number, str(port)) == ("ib-leaf-1", 12, "ib-leaf-1/12")
    assert Port.parse("a/b/3").switch == "a/b"


@pytest.mark.parametrize("text", ["", "a", "a/", "/1", "a/0", "a/01", "a/-1", "a/100000", "a/x", "a/1\n", "a/\u0661"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a switch port such as"):
        Port.parse(text)


@pytest.mark.parametrize(
    ("text", "first", "last", "size"),
    [
        ("10.0.0.0/28", "10.0.0.0", "10.0.0.15", 16),
        ("10.0.0.1-10.0.0.9", "10.0.0.1", "10.0.0.9", 9),
        ("10.0.0.1 - 10.0.0.9", "10.0.0.1", "10.0.0.9", 9),
        ("10.0.0.7/32", "10.0.0.7", "10.0.0.7", 1),
        ("10.0.0.9-10.0.0.1", "10.0.0.9", "10.0.0.1", -7),
    ],
)
def test_a_range_has_both_ends(text: str, first: str, last: str, size: int) -> None:
    found = AddressRange.parse(text)
    assert (str(found.first), str(found.last), found.size) == (first, last, size)
    assert AddressRange.parse(str(found)) == found


@pytest.mark.parametrize("text", ["", "10.0.0.1", "10.0.0.1/28", "10.0.0.0/33", "10.0.0.1-", "-", "a-b", "::1-::2"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        AddressRange.parse(text)


def test_a_range_holds_its_addresses() -> None:
    found = AddressRange.parse("10.0.0.1-10.0.0.9")
    assert IPv4Address("10.0.0.1") in found
    assert IPv4Address("10.0.0.9") in found
    assert IPv4Address("10.0.0.10") not in found
    assert "10.0.0.5" not in found


def test_texts_are_equal_where_they_are_written_alike() -> None:
    assert Port("a", 1) == Port.parse("a/1")
    assert hash(Port("a", 1)) == hash(Port.parse("a/1"))
    assert Port("a", 1) != Port("a", 2)
    assert AddressRange.parse("10.0.0.0/30") == AddressRange.parse("10.0.0.0-10.0.0.3")
    assert Taint("a", "", "NoExecute") != "a:NoExecute"
    assert repr(Port("a", 1)) == "Port(a/1)"


@pytest.mark.parametrize(
    ("text", "networks"),
    [
        ("10.0.0.0/28", ["10.0.0.0/28"]),
        ("10.0.0.1-10.0.0.4", ["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/32"]),
        ("10.0.0.9-10.0.0.1", []),
    ],
)
def test_a_range_is_made_up_of_the_fewest_networks(text: str, networks: list[str]) -> None:
    assert [str(network) for network in AddressRange.parse(text).networks] == networks
