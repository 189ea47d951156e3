"""Passwords are found wherever a pattern finds them; those in addresses are not printed, however long the text is."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.model import secret_texts
from generator.model.secret_texts import ASSIGNED, FLAG, without_logins

NAMED = r"(://[^\s/@:`'\"\[]*:)((?![${]|\d{1,5}[/?#])[^\s`'\"<>]+)(@(?!sha256:)(?=[\w\[]))"


def starred(text: str) -> str:
    """Return what a pattern makes of passwords that stand behind a name: it looks once for each name."""
    return re.sub(NAMED, lambda found: f"{found[1]}{'*' * len(found[2])}{found[3]}", text)


PARTS = st.lists(st.sampled_from(["://", ":", "@", "/", "<", " ", "a", "1", "[", "$", "sha256:", "@sha256:", "`"]))


@given(PARTS)
def test_each_password_behind_a_name_is_starred_and_nothing_else(parts: list[str]) -> None:
    text = "".join(parts)
    assert without_logins(f"oci://{text}") == starred(f"oci://{text}")


def test_a_text_is_looked_through_once() -> None:
    began = time.perf_counter()
    for text in ("://a:" * 40_000, "://a:b@" * 40_000, "://a:b<" * 40_000, "://" * 100_000):
        assert len(without_logins(text)) == len(text)
    assert time.perf_counter() - began < 5


WORDS = ["password", "Passwd", "passphrase", "client_secret", "secret-key", "SECRET_ACCESS_KEY", "secretAccessKey"]
WORDS += ["apiKey", "api-key", "auth_token", "access-token", "BearerToken"]
WORDS += ["ap\u0131_key", "AP\u0130KEY", "auth_to\u212aen", "pa\u017f\u017fwd"]
ASSIGNING = st.lists(st.sampled_from([*WORDS, "--", "-", "_", "x", "=y", ": z", "=", " ", "\n", "default", "A", "$"]))


@settings(max_examples=500)
@given(ASSIGNING)
def test_no_text_is_passed_over_that_names_a_password(parts: list[str]) -> None:
    text = "".join(parts)
    assert [*secret_texts.assigned(text)] == [found["value"] for found in re.finditer(ASSIGNED, text)]
    assert [*secret_texts.given(text)] == [found["value"] for found in re.finditer(FLAG, text)]


@pytest.mark.parametrize("word", WORDS)
def test_each_word_that_names_a_password_is_looked_for(word: str) -> None:
    assert [*secret_texts.assigned(f"{word}=x")] == [found["value"] for found in re.finditer(ASSIGNED, f"{word}=x")]
    assert [*secret_texts.given(f"--{word}=x")] == [found["value"] for found in re.finditer(FLAG, f"--{word}=x")]
