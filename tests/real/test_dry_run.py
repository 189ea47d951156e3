"""What a server-side dry run tells: of a folder on a throw-away server, and on the cluster of a kubeconfig."""

import threading
import time
import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from madeup import config, definition, deployment, kubeconfig, made, space, store, told, widget

from generator.build.objects import Object
from generator.errors import UsageError
from generator.live.api import Answer, ApiConnection, Request, of_kubeconfig, of_started
from generator.live.apiserver import Started, start, throw_away
from generator.live.dry_run.definitions import PLACE, install
from generator.live.dry_run.dry_run import dry_run
from generator.live.server import server
from generator.rules.judging import Answers

if TYPE_CHECKING:
    from generator.model.finding import Finding

pytestmark = pytest.mark.real
pytest_plugins = ["apiserver", "usercluster"]


@pytest.fixture(scope="module", autouse=True)
def _need() -> None:
    from apiserver import programs

    programs("etcd", "kube-apiserver")


# A throw-away server


def test_a_folder_is_judged_with_the_crds_and_namespaces_it_needs() -> None:
    other = {**definition("Widget", "widgets"), "metadata": {"name": "nonsense"}}
    with throw_away() as running:
        ours = of_started(running)
        good = made(definition("Widget", "widgets"), widget(size=3), config(namespace="elsewhere"))
        assert dry_run(good, ours) == Answers(findings=(), judged=3, unjudged=())
        bad = made(widget(size=10), widget(sise=1), widget("v2"), definitions=(definition("Widget", "widgets"),))
        judged = dry_run(bad, ours)
        assert told(judged.findings) == [
            ("GEN-SRV-003", "0.yaml", ("spec", "size")),
            ("GEN-SRV-002", "1.yaml", ("spec", "sise")),
            ("GEN-SRV-001", "2.yaml", ("apiVersion",)),
        ]
        assert judged.findings[2].fix == "write it in example.org/v1"
        refused = dry_run(made(other, {**widget(size=1), "kind": "Widget"}), ours)
        assert {(code, file) for code, file, _ in told(refused.findings)} == {("GEN-SRV-003", "0.yaml")}


def test_a_definition_that_is_never_served_is_told() -> None:
    twin = definition("Widget", "gadgets")
    with throw_away() as running:
        ours = of_started(running)
        dry_run(made(definition("Widget", "widgets"), widget(size=1)), ours)
        judged = dry_run(made(twin, widget(size=1)), ours)
    assert told(judged.findings) == [("GEN-SRV-009", "0.yaml", ("spec", "names"))]
    assert "already in use" in judged.findings[0].message


def test_a_conversion_webhook_is_not_waited_for() -> None:
    service = {"service": {"name": "nobody", "namespace": "default", "path": "/convert"}}
    webhook = {"strategy": "Webhook", "webhook": {"clientConfig": service, "conversionReviewVersions": ["v1"]}}
    crd = definition("Widget", "widgets", conversion=webhook)
    crd["spec"]["versions"].append({**crd["spec"]["versions"][0], "name": "v2", "storage": False})
    with throw_away() as running:
        judged = dry_run(made(crd, widget("v1", size=1), widget("v2", size=1)), of_started(running))
    assert judged == Answers(findings=(), judged=3, unjudged=())


def test_what_nothing_defines_is_told_and_not_called_good(user_api: ApiConnection) -> None:
    judged = dry_run(made(widget(size=99), {**widget(), "apiVersion": "apps/v1"}, config()), user_api)
    assert told(judged.findings) == [("GEN-SRV-001", "1.yaml", ("apiVersion",))]
    assert judged.judged == 2
    assert judged.unjudged == (
        "1 object: nothing here defines Widget.example.org; vendor it, or give its CRD with --schemas",
    )


# The cluster of a kubeconfig


def test_a_user_of_limited_rights_judges_what_it_may(started: Started, user_api: ApiConnection, tmp_path: Path) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "judge", "namespace": "default"}}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch"]}]
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "judge", "namespace": "default"}}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "judge"}
    subjects = [{"kind": "ServiceAccount", "name": "judge", "namespace": "default"}]
    place = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    store(user_api, "/api/v1/namespaces/default/serviceaccounts/judge", account)
    store(user_api, f"{place}/roles/judge", {**rbac, "kind": "Role", "rules": rules})
    store(
        user_api,
        f"{place}/rolebindings/judge",
        {**rbac, "kind": "RoleBinding", "roleRef": reference, "subjects": subjects},
    )
    path = "/api/v1/namespaces/default/serviceaccounts/judge/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    token = user_api.ask(Request(path=path, method="POST", body=body)).body["status"]["token"]
    limited = of_kubeconfig(kubeconfig(tmp_path, started, token=token), "here")
    assert server(limited).user == "system:serviceaccount:default:judge"
    judged = dry_run(made(config("mine"), deployment(), config(dta={})), limited)
    assert told(judged.findings) == [("GEN-SRV-007", "1.yaml", ()), ("GEN-SRV-002", "2.yaml", ("dta",))]
    assert 'cannot patch resource "deployments"' in judged.findings[0].message
    assert user_api.ask(Request(path="/api/v1/namespaces/default/configmaps/mine")).status == 404


def test_all_unknown_fields_are_told_at_once(user_api: ApiConnection) -> None:
    wrong = deployment()
    wrong["spec"]["replica"] = 3
    wrong["spec"]["template"]["spec"]["containers"][0]["resource"] = {}
    container = ("spec", "template", "spec", "containers", 0, "resource")
    found = told(dry_run(made(wrong), user_api).findings)
    assert sorted(found, key=str) == [("GEN-SRV-002", "0.yaml", at) for at in (("spec", "replica"), container)]


def test_all_wrong_values_are_told_at_once(user_api: ApiConnection) -> None:
    wrong = deployment()
    wrong["spec"]["replicas"] = -1
    wrong["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 99999}]
    wrong["spec"]["template"]["metadata"]["labels"]["app"] = "b"
    found = {at[-1] for code, _, at in told(dry_run(made(wrong), user_api).findings) if code == "GEN-SRV-003"}
    assert found == {"replicas", "containerPort", "labels"}


def test_a_value_of_the_wrong_type_is_told(user_api: ApiConnection) -> None:
    found = told(dry_run(made(config(data={"a": 1})), user_api).findings)
    assert found == [("GEN-SRV-003", "0.yaml", ("data", "a"))]


def test_a_field_that_cannot_change_is_told(user_api: ApiConnection) -> None:
    store(user_api, "/apis/apps/v1/namespaces/default/deployments/a", deployment())
    assert dry_run(made(deployment()), user_api).findings == ()
    judged = dry_run(made(deployment("b")), user_api)
    assert told(judged.findings) == [("GEN-SRV-004", "0.yaml", ("spec", "selector"))]


def test_a_namespace_that_nothing_brings_is_told(user_api: ApiConnection) -> None:
    found = told(dry_run(made(config(namespace="nowhere")), user_api).findings)
    assert found == [("GEN-SRV-008", "0.yaml", ("metadata", "namespace"))]


def test_what_comes_with_the_same_commit_is_judged_as_far_as_possible(user_api: ApiConnection) -> None:
    """A new namespace: its objects are tried elsewhere, where one of that name says nothing."""
    store(user_api, "/api/v1/namespaces/default/configmaps/there", config("there"))
    new = [config("a", "new"), config("b", "new", dta={}), config("there", "new")]
    judged = dry_run(made(space("new"), *new, definition("Widget", "widgets"), widget(size=99)), user_api)
    assert told(judged.findings) == [("GEN-SRV-002", "2.yaml", ("dta",))]
    assert judged.judged == 4
    assert judged.unjudged == (
        "1 object: the namespace new is new to the cluster",
        "1 object: the definition of Widget.example.org is new to the server, or was refused",
    )
    assert user_api.ask(Request(path="/api/v1/namespaces/new")).status == 404


def gizmos(**fields: Any) -> Any:
    """The definition of Gizmo: it has the field `spec.size`, and these."""
    crd = definition("Gizmo", "gizmos")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["description"] = f"It has {', '.join(fields)}."
    schema["properties"]["spec"]["properties"] |= fields
    return crd


def gizmo(name: str, **spec: Any) -> Any:
    return {**widget(**spec), "kind": "Gizmo", "metadata": {"name": name, "namespace": "default"}}


def test_what_only_the_new_definition_allows_is_no_error_on_the_day_of_an_upgrade(user_api: ApiConnection) -> None:
    """The cluster has the old definition; the new one comes with the same commit as objects that need it."""
    modes = {"type": "string", "enum": ["fast"]}
    old = gizmos(mode=modes)
    list(install(user_api, [Object(old, "", "")]))
    new = gizmos(mode={**modes, "enum": ["fast", "slow"]}, fresh={"type": "integer"})
    known, fresh, slow = gizmo("a", size=1), gizmo("b", fresh=1), gizmo("c", mode="slow")
    judged = dry_run(made(new, known, fresh, slow), user_api)
    assert judged.findings == ()
    assert judged.judged == 2
    assert [one.partition(";")[0] for one in judged.unjudged] == [
        "2 objects: the definition of Gizmo.example.org changes with this commit"
    ]
    wrong = [gizmo("a", size=10), gizmo("b", typo=1), gizmo("c", fresh=1, typo=1)]
    wrong_still = [
        ("GEN-SRV-003", "1.yaml", ("spec", "size")),
        ("GEN-SRV-002", "2.yaml", ("spec", "typo")),
        ("GEN-SRV-002", "3.yaml", ("spec", "typo")),
    ]
    judged = dry_run(made(new, *wrong), user_api)
    assert (told(judged.findings), judged.judged, judged.unjudged) == (wrong_still, 4, ())
    judged = dry_run(made(old, fresh, slow), user_api)
    assert [code for code, _, _ in told(judged.findings)] == ["GEN-SRV-002", "GEN-SRV-003"]
    assert user_api.ask(Request(path=f"{PLACE}/gizmos.example.org")).body["metadata"]["generation"] == 1
    with throw_away() as running:
        ours = of_started(running)
        assert dry_run(made(new, known, fresh, slow), ours) == Answers(findings=(), judged=4, unjudged=())


def test_values_are_told_as_in_the_file(user_api: ApiConnection) -> None:
    wrong = deployment()
    wrong["spec"]["paused"] = {"a": None}
    wrong["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "a", "value": True}]
    first, second = sorted(dry_run(made(wrong), user_api).findings, key=lambda one: one.message)
    assert (first.at, first.message) == (("spec", "paused"), 'spec.paused: expected boolean, got {"a": null}')
    assert second.at == ("spec", "template", "spec", "containers", 0, "env", 0, "value")
    assert second.message.endswith(": expected string, got true")


def test_a_certificate_that_nobody_verifies_is_not_warned_of(started: Started, tmp_path: Path) -> None:
    trusting: Any = {"insecure-skip-tls-verify": True}
    found = of_kubeconfig(kubeconfig(tmp_path, started, **trusting), None)
    with warnings.catch_warnings(record=True) as warned:
        assert server(found).user == "admin"
    assert warned == []


def test_what_webhooks_and_policies_say_is_told(tmp_path: Path) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}]
    webhook = {"name": "a.example.org", "clientConfig": {"url": "https://127.0.0.1:9/"}, "rules": rules}
    webhook |= {"sideEffects": "None", "admissionReviewVersions": ["v1"]}
    hooks = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "a"}, "webhooks": [webhook]}
    match = {"resourceRules": [{**rules[0], "resources": ["configmaps"]}]}
    policy = {"matchConstraints": match, "validations": [{"expression": "false", "message": "not in this house"}]}
    binding = {"policyName": "a", "validationActions": ["Deny"]}
    group, place = "admissionregistration.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
    admission = {"apiVersion": group, "metadata": {"name": "a"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}}
    with start(tmp_path) as running:
        own = of_started(running)
        own.throw_away = False
        store(own, f"{place}/validatingwebhookconfigurations/a", {"apiVersion": group, **hooks})
        store(
            own,
            f"{place}/validatingadmissionpolicies/a",
            {**admission, "kind": "ValidatingAdmissionPolicy", "spec": policy},
        )
        bound = {**admission, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding}
        store(own, f"{place}/validatingadmissionpolicybindings/a", bound)
        problems: tuple[Finding, ...] = ()
        for _ in range(100):
            problems = dry_run(made(secret, config()), own).findings
            if len(problems) == 2:
                break
            time.sleep(0.1)
    assert told(problems) == [("GEN-SRV-006", "0.yaml", ()), ("GEN-SRV-005", "1.yaml", ())]
    assert "not in this house" in problems[1].message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"token": "nonsense"}, "does not know who we are .*--context"),
        ({"token": ""}, "takes us for nobody"),
        ({"server": "https://127.0.0.1:9"}, "the connection failed"),
    ],
    ids=["wrong token", "no token", "nothing listens"],
)
def test_where_there_is_no_talking_it_is_said_once(change: Any, words: str, started: Started, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        server(of_kubeconfig(kubeconfig(tmp_path, started, **change), None))


def test_another_servers_certificate_is_not_trusted(started: Started, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with start(tmp_path / "other") as other:
        path = kubeconfig(tmp_path, started, **{"certificate-authority": str(other.certificate)})
        with pytest.raises(UsageError, match="not one that the kubeconfig trusts"):
            server(of_kubeconfig(path, None))


class Dying(ApiConnection):
    """A server that ends after some requests."""

    def __init__(self, own: ApiConnection, stack: ExitStack) -> None:
        self.__dict__ = own.__dict__
        self.stack, self.left, self.lock = stack, 500, threading.Lock()

    def ask(self, request: Request, *, busy: bool = False) -> Answer:
        with self.lock:
            self.left -= 1
            if self.left == 0:
                self.stack.close()
        return super().ask(request, busy=busy)


def test_a_server_that_ends_midway_is_said_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        running = stack.enter_context(start(tmp_path))
        api = Dying(of_started(running), stack)
        with pytest.raises(UsageError, match="the connection failed"):
            dry_run(made(*(config(f"a{number}") for number in range(2000))), api)


def test_two_thousand_objects_take_seconds(user_api: ApiConnection) -> None:
    many = made(*(config(f"a{number}") for number in range(1999)), config("b", nonsense=1))
    begun = time.monotonic()
    judged = dry_run(many, user_api)
    assert time.monotonic() - begun < 30
    assert judged.judged == 2000
    assert told(judged.findings) == [("GEN-SRV-002", "1999.yaml", ("nonsense",))]
