"""Numbers of things, as messages write them."""


def plural(number: int, one: str, many: str = "") -> str:
    """Return `1 file`, `3 files`; `many` is for a word that takes more than an s."""
    return f"1 {one}" if number == 1 else f"{number} {many or f'{one}s'}"
