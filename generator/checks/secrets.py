"""Rules about what must never be in Git."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from generator.checks.servers import urls
from generator.model.cluster import Cluster, Spec
from generator.model.finding import Finding, Path
from generator.model.rule import rule
from generator.model.secret_texts import (
    OPTION_IN_VALUES,
    assigned,
    given,
    in_address,
    is_named_so,
    is_secret,
    keys_and_tokens,
    may_hold_keys,
    within,
)

# Nothing is named like a password without one of these.
_WORDS = ("pass", "pwd", "secret", "key", "token", "authorization")
# Keys of chart values whose text is the secret itself, not the name of one.
_KEYS = r"(?i)(?:password|passwd|passphrase|token|apikey|api_key|clientsecret|client_secret)$|(?:^|[^a-z])(?:pass|pwd)$"


@rule("GEN-SITE-020", "no secrets in the cluster file")
def no_secrets(cluster: Cluster) -> Iterator[Finding]:
    """The file is in Git, and what was in Git once stays in its history. Secrets are made in the cluster, by
    the steps of `clusters/<cluster>/bootstrap/README.md` or by operators, and named here.

    Wrong:
        components: {kube-prometheus-stack: {values: {grafana: {adminPassword: <password>}}}}
    Right:
        components: {kube-prometheus-stack: {values: {grafana: {admin: {existingSecret: grafana-admin}}}}}
    """
    parts = {name: getattr(cluster, name) for name in Spec.__struct_fields__}
    addresses = {at for at, _ in urls(cluster)}
    texts = _texts(msgspec.to_builtins(parts, enc_hook=str))
    marked = may_hold_keys("\n".join(text for _, text, _ in texts))
    for at, text, beside in texts:
        if marked and (found := keys_and_tokens(text)):
            fix = "remove it, and replace it where it is used"
            yield Finding(at=at, message=f"this is {found[0]}", fix=fix, secret=True)
        elif at not in addresses and in_address(text):
            fix = "take it out, and change it where it is used"
            yield Finding(at=at, message="an address holds a password or a token", fix=fix, secret=True)
        elif at[0] in {"components", "extras"} and "values" in at and (what := _password(at[-1], text, beside)):
            fix = "name an existing Secret instead: charts take `existingSecret` or the like"
            yield Finding(at=at, message=f"{what} is written out", fix=fix, secret=True)


def _password(step: str | int, text: str, beside: Any) -> str:
    """Return what of chart values is a password: the text of a key, of a variable, of an option before it in a list,
    or a part of a longer text.
    """
    if isinstance(step, int):
        before = str(beside[step - 1]) if step else ""
        if re.fullmatch(OPTION_IN_VALUES, before) and is_secret(text) and not text.startswith("-"):
            return f"the value of {before}"
    key = str(step)
    named = str(beside.get("name")) if key == "value" else key
    if not any(word in f"{named} {text}".lower() for word in _WORDS):
        return ""
    if re.search(_KEYS, key) and not text.startswith("$"):
        return key
    # `secretKey` beside `secretName` is the key of a Secret.
    of_secret = key != "value" and any("secret" in str(each).lower() for each in beside if each != key)
    if is_named_so(named) and not of_secret and is_secret(text):
        return key if named == key else f"the variable {named}"
    parts = (*given(text), *assigned(text), *within(f"{named}: {text}"))
    return "a password in a text" if any(map(is_secret, parts)) else ""


def _texts(whole: dict[str, Any]) -> list[tuple[Path, str, Any]]:
    """Return all texts that are not empty, each with its place and the map or list that it is in."""
    found: list[tuple[Path, str, Any]] = []
    inside: list[tuple[Path, Any]] = [((), whole)]
    for at, value in inside:  # which grows
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if each and isinstance(each, str):
                found.append(((*at, key), each, value))
            elif isinstance(each, (dict, list, tuple)):
                inside.append(((*at, key), each))
    return found
