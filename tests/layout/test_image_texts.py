"""What counts as an image within a text can be replaced there, and no text takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.layout.image_texts import images_in, replace_image

NEW = "seen.example.org/x:1"
pieces = st.sampled_from(
    ["image: ", '"image":"', "--x-image=", "--x-image ", "X_IMAGE=", "sidecarImage: '", "containers:\n", "\n", " ", '"',
     "'", "busybox", "quay.io/a/b", "quay.io/a/b:1", "a/b", "host:5000/a", "postgres:16", ":2", "-c", "$(X)",
     "{{ .Y }}", "/", ","]
)  # fmt: skip


@given(st.lists(pieces, max_size=12).map("".join))
def test_what_is_found_is_replace_image(text: str) -> None:
    for name in images_in(text):
        assert NEW in replace_image(text, name, NEW)


@pytest.mark.parametrize(
    "text",
    ["-" * 200_000, "-image" * 50_000, "image: " * 50_000, "image: " + "a-" * 100_000, "image: " + "a.b/" * 50_000],
)
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    start = time.process_time()
    assert images_in(text) == []
    assert time.process_time() - start < 2
