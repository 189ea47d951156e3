"""The values that a rotation gives a Secret."""

from collections.abc import Iterator, Mapping

from generator.components.component import Secret
from generator.errors import UsageError
from generator.live.bootstrap.secret_values import Values


def new_values(secret: Secret, there: Mapping[str, bytes], values: Values) -> dict[str, bytes]:
    """Return another value for each key that gets one: what is given, else chance where gen makes it. Keys whose values
    are no secret stay, as do those for which a person gives nothing. Raises UsageError where nothing is new.
    """
    fresh = {key: value for key, value in _asked(secret, values) if value != there.get(key)}
    if not fresh:
        raise UsageError(
            f"{secret.full_name}: no new value is given: put it into DIR/{secret.full_name}/{replaced(secret)[0]} "
            "for --secrets-dir DIR, or type it where you are asked"
        )
    whole = {**there, **fresh}
    return fresh | {key: one.value(*(whole[of] for of in one.of)) for key, one in secret.computed.items()}


def _asked(secret: Secret, values: Values) -> Iterator[tuple[str, bytes]]:
    for key in replaced(secret):
        found = values.asked(secret, key) if secret.source == "given" else values.made(secret, key)
        if found is not None:
            yield key, found


def replaced(secret: Secret) -> list[str]:
    """Return the keys that get other values, but for computed ones."""
    kept = {*secret.known, *(secret.turn.keeps if secret.turn else ())}
    return [key for key in secret.keys if key not in kept and key not in secret.computed]
