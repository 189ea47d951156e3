"""What accounts asked of an API server, by its audit log, held against what they may; and whether a secret is told."""

import base64
import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import yaml

from generator.live.apiserver import tries
from generator.rehearsal.twin import plane as real

if TYPE_CHECKING:
    from apiserver import ApiServer

Object = dict[str, Any]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
USER = "system:serviceaccount:"
TOKEN = re.compile(r"eyJ[\w-]{16,}\.eyJ[\w-]{16,}\.[\w-]{16,}")
"""A token of a ServiceAccount: a signed JSON object, whose parts begin with `{"`."""


class Right(NamedTuple):
    """What an account (NAMESPACE:NAME) may, on objects of these names where there are any, else on all. Without a
    namespace it is for the whole cluster.
    """

    account: str
    verb: str
    group: str
    resource: str
    namespace: str
    names: tuple[str, ...] = ()

    def covers(self, one: "Asked") -> bool:
        """Tell whether something was asked that this allows."""
        inside = self.namespace in {"", one.namespace} and (not self.names or one.name in self.names)
        return self[:4] == one[:4] and inside


class Asked(NamedTuple):
    """What an account asked, and whether it might."""

    account: str
    verb: str
    group: str
    resource: str
    namespace: str
    name: str
    allowed: bool


def flags(folder: Path, *accounts: str) -> list[str]:
    """Return the flags of an API server that writes down what these accounts ask, and what they send with it, to
    `audit.log` in this folder.
    """
    rules = [
        {"level": "Request", "users": [f"{USER}{one}" for one in accounts], "omitStages": ["RequestReceived"]},
        {"level": "None"},
    ]
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}
    (folder / "audit-policy.yaml").write_text(yaml.safe_dump(policy))
    return [
        f"--audit-policy-file={folder}/audit-policy.yaml",
        f"--audit-log-path={folder}/audit.log",
        "--audit-log-mode=blocking",
    ]


@contextlib.contextmanager
def audited(folder: Path, *accounts: str, more: tuple[str, ...] = ()) -> Iterator[None]:
    """Let a control plane that begins within the block have these flags, and `more`."""
    plain, own = real._server, flags(folder, *accounts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real, "_server", lambda *words: [*plain(*words), *own, *more])
        yield


def asked(folder: Path) -> Iterator[Asked]:
    """Yield what was asked, by the log in this folder."""
    for line in (folder / "audit.log").read_text().splitlines():
        one = json.loads(line)
        what = one.get("objectRef") or {}
        yield Asked(
            account=one["user"]["username"].removeprefix(USER),
            verb=one["verb"],
            group=what.get("apiGroup", ""),
            resource="/".join(filter(None, (what.get("resource"), what.get("subresource"))))
            or str(one["requestURI"]).partition("?")[0],
            namespace=what.get("namespace", ""),
            name=what.get("name", ""),
            allowed=one["annotations"]["authorization.k8s.io/decision"] == "allow",
        )


def granted(api: "ApiServer", account: str) -> Iterator[Right]:
    """Yield all that is bound to an account by its name. What any account may, such as asking for the API server's
    version, is not among it.
    """
    for binding in (*_all(api, "rolebindings"), *_all(api, "clusterrolebindings")):
        if account in _accounts(binding):
            space, role = binding["metadata"].get("namespace", ""), binding["roleRef"]
            inside = f"namespaces/{space}/" if role["kind"] == "Role" else ""
            for rule in _get(api, f"{RBAC}/{inside}{role['kind'].lower()}s/{role['name']}")["rules"]:
                yield from _rights(account, space, rule)


def _all(api: "ApiServer", kind: str) -> list[Object]:
    return list(_get(api, f"{RBAC}/{kind}")["items"])


def _get(api: "ApiServer", path: str) -> Object:
    for _ in tries(30):
        status, answer = api.request("GET", path)
        if status != 429:  # of a kind that nobody asked for yet
            break
    assert status == 200, answer
    found: Object = answer
    return found


def _accounts(binding: Object) -> set[str]:
    subjects = (one for one in binding.get("subjects", ()) if one["kind"] == "ServiceAccount")
    return {f"{one['namespace']}:{one['name']}" for one in subjects}


def _rights(account: str, space: str, rule: Object) -> Iterator[Right]:
    for path in rule.get("nonResourceURLs", ()):
        yield from (Right(account, verb, "", path, space) for verb in rule["verbs"])
    for group in rule.get("apiGroups", ()):
        for resource in rule.get("resources", ()):
            for verb in rule["verbs"]:
                yield Right(account, verb, group, resource, space, tuple(rule.get("resourceNames", ())))


def unused(api: "ApiServer", folder: Path, *accounts: str) -> set[Right]:
    """Return the rights of accounts that they did not use. All must have asked something, and nothing in vain. What a
    right for one namespace allows does not use one for all of them.
    """
    found = {*asked(folder)}
    assert [one for one in found if not one.allowed] == []
    rights = {right for account in accounts for right in granted(api, account)}
    for account in accounts:
        assert any(right.account == account for right in rights), f"{account} has no rights: look at its name"
        assert any(one.account == account for one in found), f"{account} asked nothing: has it run?"
    inside = {one for one in found if any(right.namespace and right.covers(one) for right in rights)}
    return {right for right in rights if not any(map(right.covers, found if right.namespace else found - inside))}


def executor(account: str) -> set[Right]:
    """Return what Argo's executor needs in the namespace of the run, and steps that run as processes do not use."""
    space = account.partition(":")[0]
    return {Right(account, verb, "argoproj.io", "workflowtaskresults", space) for verb in ("create", "patch")}


def stored(api: "ApiServer") -> Iterator[tuple[str, str]]:
    """Yield all that the API server holds but Secrets, kind by kind: its address, and its text."""
    groups = [one["preferredVersion"]["groupVersion"] for one in _get(api, "/apis")["groups"]]
    for path in ("/api/v1", *(f"/apis/{one}" for one in groups)):
        for kind in _get(api, path)["resources"]:
            if "list" in kind["verbs"] and (path, kind["name"]) != ("/api/v1", "secrets"):
                yield f"{path}/{kind['name']}", json.dumps(_get(api, f"{path}/{kind['name']}"), ensure_ascii=False)


def written(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the logs of a control plane's folder: of all pods that ran, of programs, and what was asked."""
    for file in (*folder.glob("*.log"), *folder.glob("*/env.log"), *folder.glob("*pod-logs/**/*.log")):
        yield str(file.relative_to(folder)), file.read_text(errors="replace")


def betrayed(places: Iterable[tuple[str, str]], secrets: Iterable[str]) -> list[str]:
    """Return where a secret's value stands, as it is, in JSON's spelling or in base64, and where any token does."""
    forms = [(value, form) for value in secrets for form in _forms(value)]
    found = []
    for place, text in places:
        found += [f"{place}: {value}" for value, form in forms if form in text]
        found += [f"{place}: a token: {token[:24]}" for token in TOKEN.findall(text)]
    return found


def _forms(value: str) -> set[str]:
    return {value, json.dumps(value)[1:-1], base64.b64encode(value.encode()).decode()}
