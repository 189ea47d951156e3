"""Scalars as Kubernetes' Go readers take them. The real judge, Helm itself, is in tests/real/test_vendor_reading.py."""

import pytest

from generator.build.go_yaml import key_text, plain, tagged


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("Null", None), ("nULL", "nULL"),
        ("y", True), ("Yes", True), ("on", True), ("TRUE", True), ("yEs", "yEs"),
        ("n", False), ("No", False), ("off", False), ("False", False), ("none", "none"),
        ("0777", 511), ("0o777", 511), ("0x1F", 31), ("0b11", 3), ("-0b11", -3), ("1_000", 1000), ("+5", 5), ("08", 8),
        ("1e3", 1000), ("12e03", 12000), ("1.0", 1), ("1.5", 1.5), (".5", 0.5), ("1.", 1), ("-.5e1", -5),
        ("18446744073709551615", 2**64 - 1), ("18446744073709551616", 2**64), ("1:30", "1:30"), ("1.2.3", "1.2.3"),
        ("2001-12-14", "2001-12-14"), ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("=", "="), ("<<", "<<"), ("-", "-"), ("+", "+"), (".", "."), ("..", ".."), ("0x", "0x"),
        ("1e", "1e"), ("1e999", "1e999"),
    ],
)  # fmt: skip
def test_a_plain_scalar(text: str, value: object) -> None:
    assert (plain(text), type(plain(text))) == (value, type(value))


@pytest.mark.parametrize("text", [".inf", "-.INF", "+.Inf", ".nan", ".NaN"])
def test_what_json_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Kubernetes"):
        plain(text)


def test_explicit_tags() -> None:
    long = "tag:yaml.org,2002:"
    assert tagged("5", f"{long}str") == "5"
    assert tagged("5", f"{long}int") == 5
    assert tagged("aGVsbG8=", f"{long}binary") == "hello"
    with pytest.raises(ValueError, match="is no int"):
        tagged("five", f"{long}int")


@pytest.mark.parametrize(("value", "text"), [(1, "1"), (True, "true"), ("a", "a"), (1.5, "1.5")])
def test_keys_are_text(value: object, text: str) -> None:
    assert key_text(value) == text
    with pytest.raises(ValueError, match="a key is"):
        key_text(None)
