import pytest

from generator.repository.lines import changed, first_difference, same


def test_only_line_endings_are_left_out_of_account() -> None:
    assert same(b"a\r\nb\n", b"a\nb\r\n")
    assert not same(b"a\n", b"a")
    assert not same(b"a\rb\n", b"a\nb\n")


@pytest.mark.parametrize(
    ("here", "others", "told"),
    [
        (b"a\nb\n", [b"a\nb\n"], False),
        (b"a\nb\n", [b"a\nc\n"], True),
        # Each line comes from one of the two: a merge makes such a file.
        (b"a\n\nb\n", [b"a\n\nx\n", b"y\n\nb\n"], False),
        (b"a\n\nB\n", [b"a\n\nx\n", b"y\n\nb\n"], True),
        # A line that both have and that is gone here.
        (b"a\nc\n", [b"a\nb\nc\n", b"a\nb\nc\n"], True),
        (b"a\nc\n", [b"a\nb\nc\n", b"a\nc\n"], False),
    ],
)
def test_a_place_counts_where_it_differs_from_all(here: bytes, others: list[bytes], *, told: bool) -> None:
    assert changed(here, others) == told


@pytest.mark.parametrize(
    ("here", "other", "found"),
    [
        (b"a\nb\n", b"a\nc\n", (2, "b", "c")),
        (b"a\n", b"a\nb\n", (2, None, "b")),
        (b"a\nb", b"a", (2, "b", None)),
        (b"\xff\n", b"", (1, "\N{REPLACEMENT CHARACTER}", None)),
        (b"a\r\n", b"a\n", (1, None, None)),
    ],
)
def test_the_first_line_that_differs_is_named(
    here: bytes, other: bytes, found: tuple[int, str | None, str | None]
) -> None:
    assert first_difference(here, other) == found
