"""Rules about what must never be in Git."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from generator.model.cluster import Cluster, Spec
from generator.model.finding import Finding, Path
from generator.model.rule import rule

# How credentials look that have a form of their own.
_FORMS = {
    "an AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{22}",
    "a GitLab token": r"\bglpat-[\w-]{20}",
    "a Slack token": r"\bxox[abeprs]-[A-Za-z0-9-]{10}",
    "a webhook's address": r"hooks\.slack\.com/(?:services|workflows)/\w",
    "a JSON web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.",
}
_ANY = re.compile("|".join(_FORMS.values()))
# Keys of chart values whose text is the secret itself, not the name of one.
_KEYS = re.compile(r"(?:password|passwd|passphrase|token|apikey|api_key|clientsecret|client_secret)$", re.IGNORECASE)


@rule("GEN-SITE-020", "no secrets in the cluster file")
def no_secrets(cluster: Cluster) -> Iterator[Finding]:
    """The file is in Git, and what was in Git once stays in its history. Secrets are given to `gen bootstrap`, or
    by operators, and named here.

    Wrong:
        components: {kube-prometheus-stack: {values: {grafana: {adminPassword: <password>}}}}
    Right:
        components: {kube-prometheus-stack: {values: {grafana: {admin: {existingSecret: grafana-admin}}}}}
    """
    parts = {name: getattr(cluster, name) for name in Spec.__struct_fields__}
    for at, text in _texts(msgspec.to_builtins(parts, enc_hook=str)):
        if _ANY.search(text):
            found = next(what for what, form in _FORMS.items() if re.search(form, text))
            yield Finding(at=at, message=f"this is {found}", fix="remove it, and replace it where it is used")
        elif at[0] == "components" and "values" in at and _KEYS.search(str(at[-1])) and not text.startswith("$"):
            fix = "name an existing Secret instead: charts take `existingSecret` or the like"
            yield Finding(at=at, message=f"{at[-1]} is written out", fix=fix)


def _texts(whole: dict[str, Any]) -> list[tuple[Path, str]]:
    """Return all texts that are not empty, each with its place."""
    found: list[tuple[Path, str]] = []
    inside: list[tuple[Path, Any]] = [((), whole)]
    for at, value in inside:  # which grows
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            if each and isinstance(each, str):
                found.append(((*at, key), each))
            elif isinstance(each, (dict, list, tuple)):
                inside.append(((*at, key), each))
    return found
