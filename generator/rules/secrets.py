"""Rules about what must not be in a repository at all. No message repeats what it found."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import structs

from generator.build.objects import Built, Object
from generator.build.pods import Pod, containers, pods
from generator.build.workflow_pods import AT_SUBMISSION
from generator.components.component import Manifest
from generator.model.fields import dig, in_one_text, mapping, sequence, spots, walk
from generator.model.finding import Finding, Path
from generator.model.rule import rule
from generator.model.secret_texts import OPTION, assigned, given, is_named_so, is_secret, keys_and_tokens, may_hold_keys

KEPT_OUT = "declare the Secret and refer to it; make it with kubectl, External Secrets or Sealed Secrets"

VAULT_PATH = "avp.kubernetes.io/path"

KUBECONFIG = re.compile(r"\bclient-key-data[\"']?\s*:\s*[\"']?[A-Za-z0-9+/=]{20}")


@rule("GEN-SEC-001", "no Secret has data")
def empty(built: Built) -> Iterator[Finding]:
    """What is in Git is read by everybody who reads Git, for ever: base64 hides nothing. Placeholders that a controller
    fills are without data; what SOPS has encrypted may be there, and what Flux or Argo CD's Vault plugin fills in when
    it applies.

    Wrong:
        kind: Secret
        data: {password: (base64)}
    Right:
        kind: ExternalSecret
        spec: {target: {name: root}}
    """
    for one in built.of("Secret"):
        cause = f"{one.full_name} has values"
        for part in ("data", "stringData"):
            for key, value in mapping(one.manifest.get(part)).items():
                if value and not _filled_later(one, str(value)):
                    yield unseen(one.finding(f"key {key} has a value", part, key, fix=KEPT_OUT, cause=cause))


def _filled_later(one: Object, value: str) -> bool:
    """Tell whether a Secret's value is only where to find it. The Vault plugin replaces what stands in `<>`: a path
    anywhere, keys where an annotation says their path (argocd-vault-plugin, "How it works").
    """
    by_plugin = re.fullmatch(r"<[^<>]+>", value) and (VAULT_PATH in one.annotations or value.startswith("<path:"))
    return bool(by_plugin) or one.left_open(value)


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
        for name in keys_and_tokens(text)[:1]:
            yield unseen(one.finding(f"here is {name}", *at, fix=f"replace it; {KEPT_OUT}"))


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
            if isinstance(text, str) and (
                any(map(secret, assigned(text))) or (is_named_so(str(key)) and secret(text.strip()))
            ):
                yield unseen(one.finding(f"{key} holds a password", "data", key, fix=KEPT_OUT))


def in_container(pod: Pod, at: Path, container: dict[str, Any]) -> Iterator[Finding]:
    """Yield passwords in the variables and arguments of one container."""
    for way, one in spots(container, "env.*"):
        name, value = str(dig(one, "name")), dig(one, "value")
        if isinstance(value, str) and is_named_so(name) and secret(value):
            yield unseen(pod.finding(f"the variable {name} has a plain value", *at, *way, "value", fix=KEPT_OUT))
    for key in ("command", "args"):
        words = sequence(container.get(key))
        for index, word in enumerate(words):
            value = str(words[index + 1]) if index + 1 < len(words) and re.fullmatch(OPTION, str(word)) else ""
            if any(secret(each) for each in (value, *given(str(word)))):
                yield unseen(pod.finding("an argument holds a password", *at, key, index, fix=KEPT_OUT))


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
        if "client-key-data" in text and KUBECONFIG.search(text):
            yield unseen(one.finding("here is a kubeconfig with its client key", *at, fix=KEPT_OUT))


def unseen(finding: Finding) -> Finding:
    """Return a finding whose place is not shown."""
    return structs.replace(finding, secret=True)


@lru_cache(maxsize=1)
def texts(built: Built) -> list[tuple[Object, Path, str]]:
    """Return every text that is long enough of every object in which there is a word of a key, a token or a kubeconfig,
    less the descriptions in CRDs.
    """
    return [
        (one, at, part)
        for one in built.objects
        if one.kind != "CustomResourceDefinition" and _may_hold_keys(one.manifest)
        for at, part in walk(one.manifest)
        if isinstance(part, str) and len(part) >= 16
    ]


def _may_hold_keys(manifest: Manifest) -> bool:
    """Tell whether a word without which there is none is anywhere in an object."""
    content = in_one_text(manifest)
    return content is None or "client-key-data" in content or may_hold_keys(content)


def secret(value: str) -> bool:
    """Tell whether a value may be a password itself, known before a workflow is submitted."""
    return AT_SUBMISSION not in value and is_secret(value)
