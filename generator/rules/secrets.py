"""Rules about what must not be in a repository at all. No message repeats what it found."""

import re
from collections.abc import Iterator
from typing import Any

from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods
from generator.build.workflow_pods import GIVEN
from generator.model.fields import Path, dig, mapping, sequence, spots, walk
from generator.model.finding import Finding
from generator.model.rule import rule

KEPT_OUT = "declare the Secret and refer to it; make it with gen bootstrap, External Secrets or Sealed Secrets"

# Each with what follows its mark, so that a script which looks for keys is none.
KNOWN = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----\s*(?:\\n)?\s*[A-Za-z0-9+/]{16}",
    "an age key": r"\bAGE-SECRET-KEY-1[0-9A-Z]{20}",
    "an AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": r"\b(?:gh[pousr]_\w{36}|github_pat_\w{22,})",
    "a GitLab token": r"\bglpat-[\w-]{20}",
    "a Slack token": r"\bxox[abprs]-[\w-]{10,}|hooks\.slack\.com/services/T\w+/B\w+/\w{10,}",
    "a token that is signed": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "a Hugging Face token": r"\bhf_[A-Za-z]{30,}",
    "an NVIDIA key": r"\bnvapi-[\w-]{40,}",
}
LEAK = re.compile("|".join(f"(?P<g{index}>{pattern})" for index, pattern in enumerate(KNOWN.values())))
KUBECONFIG = re.compile(r"\bclient-key-data[\"']?\s*:\s*[\"']?[A-Za-z0-9+/=]{20}")

WORD = r"(?:password|passwd|passphrase|client_?secret|secret_?(?:access_?)?key|api_?key|(?:auth|access|bearer)_?token)"
# Before the word a sign, or small letters before its capital.
BEFORE = r"(?:[\w.-]*[^A-Za-z]|[\w.-]*[a-z](?=[A-Z]))?"
NAME = re.compile(rf"{BEFORE}(?i:{WORD}|token)")
ASSIGNED = re.compile(
    rf"^[ \t]*(?:export +|- +)?[\"']?(?!(?i:default)){BEFORE}(?i:{WORD})[\"']?"
    r"[ \t]*[:=][ \t]*(?P<value>\S.*?),?[ \t\r]*$",
    re.MULTILINE,
)
OPTION = rf"--?(?:[\w-]*-)?(?i:{WORD.replace('_?', '[_-]?')})"
FLAG = re.compile(rf"{OPTION}[= ](?P<value>\S+)")
# What stands where a password would, and is none: a reference, a path, a switch, an example in angle brackets, a type.
HARMLESS = re.compile(
    r"[\"']*(?:"
    r".*[$%{<(*|>\[].*|[./~].*|(?:https?|file|env|vault|secret)[:/].*|"
    r"true|false|yes|no|none|null|nil|string|bytes|nullable|required|optional|prompt|-?\d{1,5}[smhd]?"
    r")?[\"']*[;,]?",
    re.IGNORECASE | re.DOTALL,
)


@rule("GEN-SEC-001", "no Secret has data")
def empty(built: Built) -> Iterator[Finding]:
    """What is in Git is read by everybody who reads Git, for ever: base64 hides nothing. Placeholders that a controller
    fills are without data; what SOPS has encrypted may be there.

    Wrong:
        kind: Secret
        data: {password: (base64)}
    Right:
        kind: ExternalSecret
        spec: {target: {name: root}}
    """
    for one in built.of("Secret"):
        for part in ("data", "stringData"):
            for key, value in mapping(one.manifest.get(part)).items():
                if value and not str(value).startswith("ENC["):
                    yield one.finding(f"key {key} has a value", part, key, fix=KEPT_OUT)


@rule("GEN-SEC-002", "no private key and no token anywhere")
def no_leaks(built: Built) -> Iterator[Finding]:
    """Keys and tokens of well-known forms, in any text of any object. One that was committed is known: replace it where
    it is accepted, it does not help to remove it here.

    Wrong:
        kind: ConfigMap
        data: {key.pem: (a private key)}
    Right:
        volumes: [{name: key, secret: {secretName: tls}}]
    """
    for one, at, text in texts(built):
        for found in LEAK.finditer(text):
            name = list(KNOWN)[int(str(found.lastgroup)[1:])]
            yield one.finding(f"here is {name}", *at, fix=f"replace it; {KEPT_OUT}")
            break


@rule("GEN-SEC-003", "no passwords in variables, arguments and ConfigMaps")
def no_passwords(built: Built) -> Iterator[Finding]:
    """What is named like a password and has a plain value. Variables and arguments are also shown by everything that
    shows pods. References ($NAME, a path, a template) are fine.

    Wrong:
        env: [{name: DB_PASSWORD, value: (the password)}]
    Right:
        env: [{name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
    """
    for pod in pods(built):
        for at, container in containers(pod):
            yield from in_container(pod, at, container)
    for one in built.of("ConfigMap"):
        for key, text in mapping(one.manifest.get("data")).items():
            if isinstance(text, str) and (assigns(text) or (NAME.fullmatch(str(key)) and secret(text.strip()))):
                yield one.finding(f"{key} holds a password", "data", key, fix=KEPT_OUT)


def in_container(pod: Pod, at: Path, container: dict[str, Any]) -> Iterator[Finding]:
    """Yield passwords in the variables and arguments of one container."""
    for way, one in spots(container, "env.*"):
        name, value = str(dig(one, "name")), dig(one, "value")
        if isinstance(value, str) and NAME.fullmatch(name) and secret(value):
            yield pod.finding(f"the variable {name} has a plain value", *at, *way, "value", fix=KEPT_OUT)
    for key in ("command", "args"):
        words = sequence(container.get(key))
        for index, word in enumerate(words):
            value = str(words[index + 1]) if index + 1 < len(words) and re.fullmatch(OPTION, str(word)) else ""
            if any(secret(each) for each in (value, *(found["value"] for found in FLAG.finditer(str(word))))):
                yield pod.finding("an argument holds a password", *at, key, index, fix=KEPT_OUT)


@rule("GEN-SEC-004", "no kubeconfig with a key")
def no_kubeconfigs(built: Built) -> Iterator[Finding]:
    """A kubeconfig with its client key is the right to do all that its user may, until the certificate ends: it cannot
    be revoked.

    Wrong:
        data: {kubeconfig: |
            users: [{name: admin, user: {client-key-data: (base64)}}]}
    Right:
        volumes: [{name: kubeconfig, secret: {secretName: kubeconfig}}]
    """
    for one, at, text in texts(built):
        if KUBECONFIG.search(text):
            yield one.finding("here is a kubeconfig with its client key", *at, fix=KEPT_OUT)


def texts(built: Built) -> Iterator[tuple[Object, Path, str]]:
    """Yield every text of every object, less the descriptions in CRDs."""
    for one in built.objects:
        if one.kind != "CustomResourceDefinition":
            for at, part in walk(one.manifest):
                if isinstance(part, str) and len(part) >= 16:
                    yield one, at, part


def assigns(text: str) -> bool:
    """Tell whether a line gives a password its value."""
    return any(secret(found["value"]) for found in ASSIGNED.finditer(text))


def secret(value: str) -> bool:
    """Tell whether a value may be a password itself, and not only where to find one."""
    return GIVEN not in value and HARMLESS.fullmatch(value) is None
