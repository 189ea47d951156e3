"""Passwords in addresses are not printed, however long the text is."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from generator.model.secret_texts import without_logins

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
