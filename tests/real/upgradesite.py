"""A twin of `ml50` that runs an older Kubernetes, and machines that do what their Nodes ask for.

No machine is behind these nodes. What the stand-in does for one is all that an upgrade of it would show: kubelet's
version, on the control plane the image of its API server, and whether the node comes back. It reads and writes the Node
as its kubelet, with a kubelet's rights.
"""

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from beside import Beside
from minioplayed import Minio
from nodesteps import NODES, Steps

from generator.components.etcd_backup import NAMESPACE as BACKUPS
from generator.components.node_operations.names import MAINTENANCE, NAMESPACE, UPGRADE

if TYPE_CHECKING:
    from apiserver import ApiServer

OLD, NEW = "1.34.6", "1.35.3"
ASKED, ANSWERED, CORDONED = "gen.internal/upgrade", "gen.internal/upgrade-answer", "gen.internal/cordoned-by"
FILES, STATE = "gen.internal/upgrade-files", "gen.internal/machine"
SYSTEM = "/api/v1/namespaces/kube-system/pods"
GOOD = "reboot=no files=aa applied=aa certificates=2098-01-01T00:00:00Z"
"""What a machine tells of itself that needs nothing."""
MAINTAINED = [f"gen.internal/maintained-{one}" for one in ("patch", "reboot", "files", "certificates")]
RUNS = f"/apis/argoproj.io/v1alpha1/namespaces/{BACKUPS}/workflows"
Object = dict[str, Any]


class Ask(NamedTuple):
    """What a machine was asked, and what the cluster was at that moment: which nodes were away with it, and which pods
    were on it that should have gone.
    """

    name: str
    words: str
    away: frozenset[str]
    left: tuple[str, ...]


class Machines(Beside):
    """All machines of the cluster. `silent` ones never come back, `sick` ones say that it failed."""

    def __init__(self, steps: Steps) -> None:
        super().__init__(steps)
        self.asks: list[Ask] = []
        self.silent: set[str] = set()
        self.sick: set[str] = set()
        self.answered: set[tuple[str, str]] = set()

    def once(self) -> None:
        """Do what is newly asked."""
        nodes = self.api.request("GET", NODES)[1]["items"]
        notes = {one["metadata"]["name"]: one["metadata"].get("annotations") or {} for one in nodes}
        away = frozenset(name for name, each in notes.items() if each.get(CORDONED) in (UPGRADE, MAINTENANCE))
        for name, each in notes.items():
            if (words := each.get(ASKED)) and (name, words) not in self.answered:
                self.answered.add((name, words))
                self.asks.append(Ask(name, words, away, self.left(name)))
                self.act(name, words)

    def left(self, name: str) -> tuple[str, ...]:
        """Return the pods of teams on a node."""
        pods = self.api.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")[1]["items"]
        return tuple(
            f"{one['metadata']['namespace']}/{one['metadata']['name']}"
            for one in pods
            if "kubernetes.io/config.mirror" not in (one["metadata"].get("annotations") or {})
            and one["status"].get("phase") not in ("Succeeded", "Failed")
        )

    def act(self, name: str, words: str) -> None:
        """Do what a machine is asked, or let that fail."""
        who = (f"system:node:{name}", ("system:nodes", "system:authenticated"))
        own = self.api.request("GET", f"{NODES}/{name}", by=who)[1]
        assert own["metadata"]["annotations"][ASKED] == words, own
        if name in self.sick:
            told = {"metadata": {"annotations": {ANSWERED: f"{words}: failed: kubeadm: no space left on device"}}}
            code, answer = self.api.request("PATCH", f"{NODES}/{name}", told, by=who, patch="merge-patch+json")
            assert code == 200, answer
            return
        how, what, _ = words.split()
        if how in ("apply", "node"):
            self.report(name, what, who)
        else:
            self.maintain(name, words, who)

    def maintain(self, name: str, words: str, who: Any) -> None:
        """Let a machine boot anew, or take files or certificates, and tell so."""
        how = words.split(maxsplit=1)[0]
        if how in ("patch", "reboot"):
            info = {"status": {"nodeInfo": {"bootID": f"boot-{len(self.asks)}", "kernelVersion": "6.8.0-50-generic"}}}
            code, answer = self.api.request("PATCH", f"{NODES}/{name}/status", info, by=who, patch="merge-patch+json")
            assert code == 200, answer
        notes = {ANSWERED: f"{words}: done", STATE: GOOD}
        told = {"metadata": {"annotations": notes}}
        code, answer = self.api.request("PATCH", f"{NODES}/{name}", told, by=who, patch="merge-patch+json")
        assert code == 200, answer

    def report(self, name: str, version: str, who: Any) -> None:
        """Let kubelet report a version; where it never comes back, be not Ready with it."""
        if name in self.silent:
            down = {"metadata": {"annotations": {"twin.test/down": "1"}}}
            assert self.api.request("PATCH", f"{NODES}/{name}", down, patch="merge-patch+json")[0] == 200
            ready(self.api, name, up=False)
            return
        info = {"status": {"nodeInfo": {"kubeletVersion": f"v{version}"}}}
        code, answer = self.api.request("PATCH", f"{NODES}/{name}/status", info, by=who, patch="merge-patch+json")
        assert code == 200, answer
        if name.startswith("cp-"):
            control_plane_pods(self.api, name, version)


def ready(api: "ApiServer", name: str, *, up: bool) -> None:
    """Let a node be Ready, or not."""
    condition = {"type": "Ready", "status": str(up), "reason": "Test", "message": ""}
    code, answer = api.request(
        "PATCH", f"{NODES}/{name}/status", {"status": {"conditions": [condition]}}, patch="strategic-merge-patch+json"
    )
    assert code == 200, answer


def control_plane_pods(api: "ApiServer", node: str, version: str) -> None:
    """Let the pods run on a control-plane node as kubeadm writes them."""
    images = {"etcd": "etcd:3.6.6-0", "kube-apiserver": f"kube-apiserver:v{version}"}
    for part, image in images.items():
        name = f"{part}-{node}"
        # One that is there gets its image: KWOK deletes by name, and at times one that was made anew under it.
        container = {"name": part, "image": f"registry.k8s.io/{image}"}
        change = {"spec": {"containers": [container]}}
        if api.request("PATCH", f"{SYSTEM}/{name}", change, patch="strategic-merge-patch+json")[0] == 200:
            continue
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "kube-system",
                "labels": {"component": part, "tier": "control-plane"},
                "annotations": {"kubernetes.io/config.mirror": "1"},
            },
            "spec": {
                "nodeName": node,
                "tolerations": [{"operator": "Exists"}],
                "containers": [container],
            },
        }
        assert api.create(pod, dry=False) == (201, "")


def is_ready(pod: Object) -> bool:
    """Tell whether a pod is Ready."""
    told = {one["type"]: one["status"] for one in (pod.get("status") or {}).get("conditions") or ()}
    return told.get("Ready") == "True"


class Site:
    """The twin, its steps, and its versions."""

    def __init__(self, steps: Steps) -> None:
        self.steps, self.api = steps, steps.api
        self.drives = Minio()

    def prepare(self, drivers: tuple[str, ...]) -> None:
        """Let be there what an upgrade looks at besides nodes."""
        self.api.install("argo-workflows/v4.0.2/crds")
        self.snapshot(minutes=10)
        self.minio()
        for one in self.steps.twin.machines:
            self.steps.register(one["metadata"]["name"], *drivers)

    def older(self, version: str = OLD) -> None:
        """Let all nodes have an older version, and nothing of a former run."""
        for one in self.api.items(NODES):
            name = one["metadata"]["name"]
            notes = dict.fromkeys((ASKED, ANSWERED, CORDONED, "twin.test/down", *MAINTAINED))
            self.steps.patch(f"{NODES}/{name}", {"metadata": {"annotations": notes}, "spec": {"unschedulable": None}})
            self.steps.status(f"{NODES}/{name}", {"nodeInfo": {"kubeletVersion": f"v{version}"}})
            if name.startswith("cp-"):
                control_plane_pods(self.api, name, version)
        self.api.wait("the control plane is Ready", lambda: all(map(is_ready, self.api.items(SYSTEM))))

    def ahead(self) -> None:
        """Let the control plane have the newer version already: workers come after it."""
        for one in self.api.items(NODES):
            name = one["metadata"]["name"]
            if name.startswith("cp-"):
                self.steps.status(f"{NODES}/{name}", {"nodeInfo": {"kubeletVersion": f"v{NEW}"}})
                control_plane_pods(self.api, name, NEW)

    def snapshot(self, *, minutes: float) -> None:
        """Let the newest snapshot of etcd have been taken so long ago, as the backup of that time tells it."""
        path = f"{RUNS}/backup-etcd-1"
        self.api.request("DELETE", path)
        stored = {"name": "stored", "value": str(int(time.time() - minutes * 60))}
        node = {"id": "a", "name": "a", "type": "Pod", "outputs": {"parameters": [stored]}}
        # A controller that runs looks at no run that has this label.
        labels = {"gen.internal/backup": "etcd", "workflows.argoproj.io/completed": "true"}
        run = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"name": "backup-etcd-1", "namespace": BACKUPS, "labels": labels},
            "spec": {"workflowTemplateRef": {"name": "etcd-backup"}},
            "status": {"phase": "Succeeded", "nodes": {"a": node}},
        }
        code, answer = self.api.request("POST", RUNS, run)
        assert code == 201, answer

    def minio(self) -> None:
        """Let MinIO's servers run, one on each of its nodes."""
        labels = {"app.kubernetes.io/name": "minio"}
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
        pod = {
            "nodeSelector": {"gen.internal/pool": "nas"},
            # Not of every taint: such a pod would come back to a node that was just emptied.
            "tolerations": [{"key": "gen.internal/objects", "operator": "Exists"}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
            "containers": [{"name": "minio", "image": "registry.example.org/minio:1"}],
        }
        template = {"metadata": {"labels": labels}, "spec": pod}
        spec = {"replicas": 4, "podManagementPolicy": "Parallel", "serviceName": "minio", "template": template}
        metadata = {"name": "minio", "namespace": "minio"}
        one = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec}
        self.api.apply({**one, "spec": {**spec, "selector": {"matchLabels": labels}}})
        budget = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        self.api.apply({**kind, "metadata": metadata, "spec": budget})
        at = "/apis/apps/v1/namespaces/minio/statefulsets/minio"
        self.api.wait("MinIO runs", lambda: (self.api.get(at).get("status") or {}).get("readyReplicas") == 4)

    def file(self, **facts: Any) -> None:
        """Let the cluster file that was synced last say something else of upgrades."""
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{UPGRADE}"
        said = json.loads(self.api.get(path)["data"]["facts"]) | facts
        self.steps.patch(path, {"data": {"facts": json.dumps(said)}})

    def tell(self, words: str, *names: str) -> None:
        """Let machines with a timer tell something of themselves; without names, all of them."""
        self.file(upgrades="timer")
        notes = {"metadata": {"annotations": {FILES: NEW, STATE: words}}}
        for name in names or [one["metadata"]["name"] for one in self.api.items(NODES)]:
            self.steps.patch(f"{NODES}/{name}", notes)

    def versions(self) -> set[str]:
        """Return which versions kubelets report."""
        return {one["status"]["nodeInfo"]["kubeletVersion"] for one in self.api.items(NODES)}


class Admission(NamedTuple):
    """What tells one admission of a gang from another: its Workload as it was changed last, and since when it is let
    in; and how many pods it has.
    """

    uid: str
    generation: int
    since: str
    pods: int


class Watcher(Beside):
    """Who looks at a gang all the time, and at a budget where one is named, and remembers what must never be seen:
    `mixed`, pods of two beginnings of the gang at the same time; `halved`, that it lacked a pod, or one was on its way
    out, while its queue had it let in and it had been whole.
    """

    pause = 0.1

    def __init__(self, steps: Steps, team: str, gang: str, budget: str = "") -> None:
        super().__init__(steps)
        self.team, self.gang, self.budget = team, gang, budget
        self.mixed: list[set[str]] = []
        self.halved: list[set[str]] = []
        self.admitted: dict[Admission, frozenset[str]] = {}
        self.least = 10**6

    @property
    def whole(self) -> list[frozenset[str]]:
        """The pods of each time when the gang was let in and seen whole."""
        return [pods for admission, pods in self.admitted.items() if len(pods) == admission.pods]

    def once(self) -> None:
        before = self.let_in()
        pods = self.api.request("GET", f"/api/v1/namespaces/{self.team}/pods")[1]["items"]
        mine = [one for one in pods if one["metadata"]["name"].startswith(f"{self.gang}-")]
        alive = [one for one in mine if one["status"].get("phase") in ("Pending", "Running")]
        self.look({one["metadata"]["uid"] for one in alive})
        if before and before == self.let_in():  # so it was, too, when the pods were read
            staying = (one["metadata"] for one in alive if "deletionTimestamp" not in one["metadata"])
            self.look_whole(before, frozenset(one["uid"] for one in staying))
        if self.budget:
            at = f"/apis/policy/v1/namespaces/default/poddisruptionbudgets/{self.budget}"
            self.least = min(self.least, self.api.request("GET", at)[1]["status"]["currentHealthy"])

    def let_in(self) -> Admission | None:
        """Return by which admission the gang is let in now; None where it is not, or its queue takes it back."""
        at = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{self.team}/workloads"
        for one in self.api.request("GET", at)[1]["items"]:
            metadata, spec = one["metadata"], one["spec"]
            told = {each["type"]: each for each in (one.get("status") or {}).get("conditions") or ()}
            states = [told.get(name, {}).get("status") for name in ("Admitted", "Evicted")]
            owners = [owner["name"] for owner in metadata.get("ownerReferences", ())]
            if self.gang in owners and spec["active"] and states[0] == "True" != states[1]:
                count = sum(each["count"] for each in spec["podSets"])
                since = told["Admitted"]["lastTransitionTime"]
                return Admission(metadata["uid"], metadata["generation"], since, count)
        return None

    def look(self, alive: set[str]) -> None:
        """Remember pods that are there at the same time; a gang whose member was replaced alone is mixed."""
        if any(one & alive and not alive <= one for one in self.whole):
            self.mixed.append(alive)

    def look_whole(self, admission: Admission, stay: frozenset[str]) -> None:
        """Remember the gang of an admission once it is whole; one that lacks any of its pods from then on is halved."""
        if self.admitted.setdefault(admission, stay) <= stay:
            self.admitted[admission] = stay
        elif len(self.admitted[admission]) == admission.pods:
            self.halved.append({*stay})
