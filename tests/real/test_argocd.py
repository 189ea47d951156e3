"""A rendered cluster in the hands of Argo CD: its own controller installs it, keeps it, changes it, takes it away.

Tests share one cluster and go from what only looks to what removes.
"""

import contextlib
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from argocd.argo import Argo
    from argocd.fixtures import Installation

pytest_plugins = ["apiserver", "argocd.fixtures"]
pytestmark = pytest.mark.twin

Object = dict[str, Any]
QUOTA = "/api/v1/namespaces/vision/resourcequotas/team"
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/vision"
CRD = "CustomResourceDefinition"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RETRIES = 5
"""After so many root gives up."""
NEVER = 20.0
"""Seconds in which what must not happen would have happened: see the controls."""


def test_root_makes_every_application_in_the_order_of_the_waves(small: "Installation") -> None:
    assert small.too_early == []
    assert set(small.waves.values()) == {0, 1, 2, 3}


def test_control_who_comes_too_early_is_seen(small: "Installation") -> None:
    found = small.argo.applications()
    found["kueue"]["status"]["health"]["status"] = "Progressing"
    found["volcano"]["status"]["health"]["status"] = "Progressing"
    assert small.unwell(found, 2) == ["kueue"]
    assert small.unwell(found, 1) == []


def test_nothing_differs_after_two_hard_refreshes(argo: "Argo") -> None:
    from argocd.argo import sync

    names = argo.applications()
    for _ in range(2):
        argo.refresh(*names, hard=True)
        argo.settled(*names)
    assert {name: sync(one) for name, one in argo.applications().items()} == dict.fromkeys(names, "Synced")


def test_health_comes_from_the_rendered_lua(argo: "Argo") -> None:
    """Kueue itself writes the status that the Lua reads. A field that Git does not name is no drift."""
    from argocd.argo import resource

    def said() -> str:
        return str(resource(argo.application("queues"), "ClusterQueue", "vision").get("health", {}).get("status"))

    assert said() == "Healthy"
    argo.merge(QUEUE, {"spec": {"stopPolicy": "Hold"}})
    argo.until("a stopped queue is suspended", lambda: said() == "Suspended")
    argo.merge(QUEUE, {"spec": {"stopPolicy": "None"}})
    argo.until("a queue that goes on is healthy", lambda: said() == "Healthy")


def test_what_somebody_changes_or_deletes_comes_back_and_what_somebody_adds_stays(argo: "Argo") -> None:
    policy = "/apis/networking.k8s.io/v1/namespaces/vision/networkpolicies/default-deny"
    wanted = argo.api.get(QUOTA)["spec"]["hard"]
    argo.merge(QUOTA, {"spec": {"hard": {"count/jobs.batch": "9"}}, "metadata": {"labels": {"by-hand": "yes"}}})
    assert argo.api.request("DELETE", policy)[0] == 200
    argo.until("the quota is as in Git", lambda: argo.api.get(QUOTA)["spec"]["hard"] == wanted)
    argo.until("the policy is there again", lambda: argo.api.get(policy))
    assert argo.api.get(QUOTA)["metadata"]["labels"]["by-hand"] == "yes"


def test_a_project_refuses_what_is_not_its_own(argo: "Argo") -> None:
    """A binding in a team's namespace passes; the same in kube-system stops the sync, and Git alone mends it."""
    from argocd.argo import phase

    with argo.beside("tenants", binding("vision")):
        argo.settled("tenants", revision=argo.push())
        assert argo.api.get(f"{BINDINGS.format('vision')}/extra")
    with argo.beside("tenants", binding("kube-system")):
        argo.push()
        refused = "is not permitted in project"
        argo.until("the project refuses", lambda: refused in phase(argo.application("tenants"))[1])
    argo.settled("tenants", revision=argo.push())
    assert not argo.api.get(f"{BINDINGS.format('kube-system')}/extra")
    assert not argo.api.get(f"{BINDINGS.format('vision')}/extra")


BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings"


def binding(namespace: str) -> Object:
    """Return a RoleBinding that gives nobody anything."""
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "extra", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [],
    }


def test_a_broken_leaf_does_not_hold_root(argo: "Argo") -> None:
    from argocd.argo import retries

    with argo.beside("issuers", unserved("cert-manager")), argo.touched("issuers"), later(argo, "vision"):
        argo.push()
        argo.until("the late Application is made", lambda: "late" in argo.applications())
        assert retries(argo.application("issuers")) < RETRIES
        argo.until("the issuers do not get through", lambda: retries(argo.application("issuers")) > RETRIES)
    recovered(argo)


def test_a_broken_component_that_others_need_holds_root_for_a_while_and_git_mends_it(argo: "Argo") -> None:
    """The control of the test above, and what came of root's waiting for ever."""
    from argocd.argo import retries

    with argo.beside("queues", unserved("kueue-system")), argo.touched("queues"), later(argo, "vision"):
        argo.push()
        argo.until("root goes on without the queues", lambda: "late" in argo.applications())
        assert retries(argo.application("queues")) >= RETRIES
    recovered(argo)


def test_a_project_and_an_application_that_were_wrong_are_mended_by_git_alone(argo: "Argo") -> None:
    from argocd.argo import sync

    nowhere = {"op": "replace", "path": "/spec/source/path", "value": "overlays/small/nowhere"}
    nothing = {"op": "replace", "path": "/spec/sourceRepos", "value": []}
    with contextlib.ExitStack() as stack:
        for one in (argo.patched("Application", "kueue", nowhere), argo.patched("AppProject", "scheduling", nothing)):
            stack.enter_context(one)
        stack.enter_context(argo.touched("queues"))
        argo.push()
        argo.until("Kueue cannot be compared", lambda: sync(argo.application("kueue")) == "Unknown")
    recovered(argo)


def unserved(namespace: str) -> Object:
    """Return an object of a kind that nobody serves."""
    return {"apiVersion": "example.org/v1", "kind": "Unserved", "metadata": {"name": "x", "namespace": namespace}}


def later(argo: "Argo", namespace: str) -> Any:
    """Have an Application in a later wave than all others, which needs nothing."""
    made = yaml.load(argo.repository.applications.joinpath("application-tenants.yaml").read_bytes(), yaml.CSafeLoader)
    made["metadata"]["name"] = "late"
    made["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] = "9"
    made["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] = ""
    made["spec"]["source"]["path"] = "late"
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "namespace": namespace}}
    folder = argo.repository.tree / "late"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return argo.corner(argo.repository.applications / "custom", "late", made)


def recovered(argo: "Argo") -> None:
    """Publish what is well, and see all of it arrive without a hand on the cluster."""
    revision = argo.push()
    names = [name for name in argo.applications() if name != "late"]
    argo.settled(*names, revision=revision)
    argo.until("the late Application is gone", lambda: "late" not in argo.applications())
    gone(argo, "/api/v1/namespaces/vision/configmaps/late")


def gone(argo: "Argo", path: str) -> None:
    """Take out what stays behind on purpose: other tests have the same cluster."""
    argo.api.request("DELETE", path)
    argo.until(f"{path} is gone", lambda: argo.api.get(path) is None)


def test_a_team_that_leaves_takes_its_rights_and_queue_along(argo: "Argo") -> None:
    queue = "/apis/kueue.x-k8s.io/v1beta2/namespaces/language/localqueues/default"
    file = argo.repository.spec
    assert argo.api.items(BINDINGS.format("language"))
    assert argo.api.get(queue)
    less = yaml.load(yaml.safe_dump(file), yaml.CSafeLoader)
    less["spec"]["teams"] = [team for team in less["spec"]["teams"] if team["name"] != "language"]
    argo.repository.write(less)
    argo.settled("root", "namespaces", "queues", "tenants", revision=argo.push())
    assert argo.api.items(BINDINGS.format("language")) == []
    assert argo.api.get(queue) is None
    # Namespaces hold data.
    assert argo.api.get("/api/v1/namespaces/language")
    argo.repository.write(file)
    argo.settled("root", "namespaces", "queues", "tenants", revision=argo.push())
    assert argo.api.get(queue)


def test_a_component_goes_after_confirmation_and_its_definitions_stay(argo: "Argo") -> None:
    from argocd.argo import phase

    # Argo CD deletes no definition along with an Application.
    had = [one for one in argo.application("volcano")["status"]["resources"] if one["kind"] != CRD]
    assert {one["kind"] for one in had} >= {"Deployment", "Service", "ClusterRole", "ClusterRoleBinding"}
    file = argo.repository.spec
    less = yaml.load(yaml.safe_dump(file), yaml.CSafeLoader)
    less["spec"]["components"]["volcano"] = {"managed": False}
    argo.repository.write(less)
    argo.push()
    argo.until("root waits", lambda: "pruning confirmation" in phase(argo.application("root"))[1])
    time.sleep(NEVER)
    assert "volcano" in argo.applications()
    # As the bootstrap README says it.
    argo.annotate("root", deletion_approved=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    argo.until("Volcano is gone", lambda: "volcano" not in argo.applications())
    argo.settled("root")
    assert [f"{one['kind']} {one['name']}" for one in had if there(argo, one)] == []
    assert argo.api.get(f"{DEFINITIONS}/jobs.batch.volcano.sh")
    assert argo.api.get("/api/v1/namespaces/volcano-system")
    argo.repository.write(file)
    argo.settled("volcano", "root", revision=argo.push())


@pytest.mark.parametrize("way", ["installed", "entry"])
def test_a_component_of_ones_own_comes_and_goes_with_all_it_brought(argo: "Argo", way: str) -> None:
    """Whether it is said not to be installed first, or its entry goes at once: its project is the last that leaves. Of
    what is in no namespace Argo CD writes, and deletes, only what the project allows, whatever its tier may have.
    """
    from argocd.argo import phase

    house = "/api/v1/namespaces/house/configmaps/house"
    ingress = "/apis/networking.k8s.io/v1/ingressclasses/house"
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/house"
    file = argo.repository.spec
    more = yaml.load(yaml.safe_dump(file), yaml.CSafeLoader)
    own: Object = {"namespace": "house", "folder": "apps/house", "kinds": ["networking.k8s.io/IngressClass"]}
    more["spec"]["extras"] = {"house": own}
    folder = argo.repository.tree / "apps/house"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text("resources: [all.yaml]\n")
    (folder / "all.yaml").write_text(f"{HOUSE}---\n{OF_ITS_TIER}")
    argo.repository.write(more)
    argo.settled("root", "namespaces", revision=argo.push())
    argo.until("it is refused", lambda: "ClusterRole is not permitted in project extra-house" in refusals(argo))
    assert argo.api.get(role) is None
    (folder / "all.yaml").write_text(HOUSE)
    argo.settled("house", revision=argo.push())
    assert argo.api.get(house)
    assert argo.api.get(ingress)
    own["installed"] = False
    argo.repository.write(more if way == "installed" else file)
    argo.push()
    argo.until("root waits", lambda: "pruning confirmation" in phase(argo.application("root"))[1])
    assert argo.api.get(PROJECT)
    argo.annotate("root", deletion_approved=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    argo.until("it is gone", lambda: "house" not in argo.applications())
    argo.settled("root")
    assert argo.api.get(house) is None
    assert argo.api.get(ingress) is None
    argo.repository.write(file)
    argo.settled("root", "namespaces", revision=argo.push())
    argo.until("its project is gone", lambda: argo.api.get(PROJECT) is None)
    gone(argo, "/api/v1/namespaces/house")


PROJECT = "/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects/extra-house"
OF_ITS_TIER = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: house}
rules: []
"""


def refusals(argo: "Argo") -> str:
    """Return what Argo CD refuses of the component."""
    status = argo.application("house").get("status", {})
    return f"{status.get('operationState')} {status.get('conditions')}"


HOUSE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: house, namespace: house}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: house}
spec: {controller: example.org/house}
"""


def there(argo: "Argo", resource: Object) -> bool:
    """Tell whether something is in the cluster that an Application lists."""
    version = "/".join(filter(None, (resource.get("group"), resource["version"])))
    metadata = {key: resource[key] for key in ("namespace", "name") if key in resource}
    manifest = {"apiVersion": version, "kind": resource["kind"], "metadata": metadata}
    return bool(argo.api.get(argo.api.path(manifest, named=True)))


def test_a_sync_of_root_that_waits_is_ended_as_the_readme_says(argo: "Argo") -> None:
    from argocd.argo import APPLICATIONS, phase

    file = argo.repository.spec
    less = yaml.load(yaml.safe_dump(file), yaml.CSafeLoader)
    less["spec"]["components"]["volcano"] = {"managed": False}
    argo.repository.write(less)
    argo.push()
    argo.until("root waits", lambda: "pruning confirmation" in phase(argo.application("root"))[1])
    argo.repository.write(file)
    revision = argo.push()
    time.sleep(NEVER)
    assert phase(argo.application("root"))[0] == "Running"
    argo.merge(f"{APPLICATIONS}/root", {"status": {"operationState": {"phase": "Terminating"}}})
    argo.until("root's sync is ended", lambda: phase(argo.application("root")) == ("Failed", "Operation terminated"))
    sync = {"prune": True, "syncOptions": ["ServerSideApply=true", "ApplyOutOfSyncOnly=true"]}
    argo.merge(f"{APPLICATIONS}/root", {"operation": {"sync": sync}})
    argo.settled("root", revision=revision)
    assert "volcano" in argo.applications()
