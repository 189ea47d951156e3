from generator.model.plural import plural


def test_one_is_singular_and_every_other_number_plural() -> None:
    assert [plural(number, "file") for number in (0, 1, 2, 21)] == ["0 files", "1 file", "2 files", "21 files"]
    assert [plural(number, "patch", "patches") for number in (0, 1, 2)] == ["0 patches", "1 patch", "2 patches"]
