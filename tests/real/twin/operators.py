"""Operators of jobs as processes: each with the arguments, configuration, account and webhooks that were applied. What
is another here is where they listen, that one of each is enough, and who mounts the certificate.
"""

import contextlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import yaml
from apiserver import programs, sources

from generator.live.apiserver import free_ports
from generator.rehearsal.twin.plane import Plane
from generator.rehearsal.twin.running import listens, program, running

Object = dict[str, Any]
CERTIFICATES = Path("k8s-webhook-server", "serving-certs")
"""Where the programs look for their certificate, below the folder that they run in."""


class Operator(NamedTuple):
    """An operator's program and Deployment. `config` is the ConfigMap that it reads, `secret` what it writes its
    certificate into, `service` what its webhooks are called by; `flags` and `env` say where it listens: `{host}` is the
    Service's address, `{health}` a free port. `lease` is what it takes as a leader, where it can do nothing else to be
    known by. `made` makes its objects of its rendered folder where no module holds its chart.
    """

    program: str
    namespace: str
    deployment: str
    config: str = ""
    secret: str = ""
    service: str = ""
    flags: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    lease: str = ""
    made: Callable[[Path], Iterator[Object]] | None = None


HEALTH = "127.0.0.1:{health}"
JOBSET = Operator(
    program="jobset",
    namespace="jobset-system",
    deployment="jobset-controller",
    config="jobset-controller-config",
    secret="jobset-webhook-server-cert",
    service="jobset-webhook-service",
)
TRAINER = Operator(
    program="kubeflow-trainer",
    namespace="kubeflow-system",
    deployment="kubeflow-trainer-controller-manager",
    config="kubeflow-trainer-config",
    secret="kubeflow-trainer-webhook-cert",
    service="kubeflow-trainer-controller-manager",
)
MPI = Operator(program="mpi-operator", namespace="mpi-operator", deployment="mpi-operator", lease="mpi-operator")
TRAINING = Operator(
    program="training-operator",
    namespace="training-operator",
    deployment="training-operator",
    secret="training-operator-webhook-cert",
    service="training-operator",
    flags=("--metrics-bind-address=0", f"--health-probe-bind-address={HEALTH}", "--webhook-server-port=443"),
    env=(("WEBHOOK_HOST", "{host}"), ("MY_POD_NAMESPACE", "training-operator")),
)
PODGROUPS: Object = {
    "apiGroups": ["scheduling.volcano.sh"],
    "resources": ["podgroups"],
    "verbs": ["create", "delete", "get", "list", "update", "watch"],
}
"""What the chart of 1.7.0 adds to the operator's role for Volcano."""


def kuberay(overlay: Path) -> Iterator[Object]:
    """Yield what KubeRay's chart would make of its values, as far as it matters here: no module holds the chart."""
    folder, group = sources("kuberay"), "rbac.authorization.k8s.io"
    values = yaml.load((overlay / "releases" / "kuberay.yaml").read_bytes(), yaml.CSafeLoader)
    role = yaml.load((folder / "rbac" / "role.yaml").read_bytes(), yaml.CSafeLoader)
    name, where = {"name": "kuberay-operator"}, {"namespace": "kuberay-system", "name": "kuberay-operator"}
    for file in sorted((folder / "crd" / "bases").glob("*.yaml")):
        yield yaml.load(file.read_bytes(), yaml.CSafeLoader)
    yield {**role, "metadata": name, "rules": [*role["rules"], PODGROUPS]}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where}
    yield {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": name,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", **name},
        "subjects": [{"kind": "ServiceAccount", **where}],
    }
    args = [f"--batch-scheduler={values['batchScheduler']['name']}"]
    pod = {"serviceAccountName": "kuberay-operator", "containers": [{"name": "operator", "image": "it", "args": args}]}
    template = {"metadata": {"labels": name}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": name}, "template": template}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": where, "spec": spec}


KUBERAY = Operator(
    program="kuberay-operator",
    namespace="kuberay-system",
    deployment="kuberay-operator",
    flags=("--metrics-addr=0", f"--health-probe-bind-address={HEALTH}", "--enable-leader-election=false"),
    made=kuberay,
)


OPERATORS = {
    "jobset": JOBSET,
    "trainer": TRAINER,
    "mpi-operator": MPI,
    "training-operator": TRAINING,
    "kuberay": KUBERAY,
}


@contextlib.contextmanager
def operator(api: Plane, one: Operator, **told: str) -> Iterator[None]:
    """Run an operator as soon as it answers for its webhooks, with more variables that are `told`; skips the test where
    it is not built.
    """
    programs(one.program)
    folder = api.address.folder / one.deployment
    folder.mkdir(mode=0o700, exist_ok=True)
    core = f"/api/v1/namespaces/{one.namespace}"
    host = api.get(f"{core}/services/{one.service}")["spec"]["clusterIP"] if one.service else ""
    (health,) = free_ports(1)
    here = {"host": host, "health": health}
    pod = api.get(f"/apis/apps/v1/namespaces/{one.namespace}/deployments/{one.deployment}")["spec"]["template"]["spec"]
    flags = [word for word in pod["containers"][0].get("args", []) if not word.startswith("--config=")]
    if one.config:
        data = api.get(f"{core}/configmaps/{one.config}")["data"]["controller_manager_config.yaml"]
        (folder / "config.yaml").write_text(yaml.safe_dump(_here(yaml.load(data, yaml.CSafeLoader), host, health)))
        flags.append(f"--config={folder / 'config.yaml'}")
    env = told | {key: text.format(**here) for key, text in one.env}
    env |= {"KUBECONFIG": str(api.account(one.namespace, pod["serviceAccountName"])), "TMPDIR": str(folder)}
    command = [program(one.program), *flags, *(flag.format(**here) for flag in one.flags)]
    with running(folder, command, _answers(api, one, host, health), **env):
        yield


def _here(config: Object, host: str, health: int) -> Object:
    return config | {
        "leaderElection": {"leaderElect": False},
        "webhook": {"host": host, "port": 443},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": HEALTH.format(health=health)},
    }


def _answers(api: Plane, one: Operator, host: str, health: int) -> Callable[[], bool]:
    """Return what tells whether an operator is at work."""
    if not one.secret and not one.lease:
        return lambda: _ready(health)
    if one.lease:
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{one.namespace}/leases/{one.lease}"
        return lambda: bool(api.get(lease))
    return lambda: _mounted(api, one) and listens(443, host) and _ready(health)


def _mounted(api: Plane, one: Operator) -> bool:
    """Do what kubelet does: put the Secret that the operator has filled where it looks for it."""
    data = api.get(f"/api/v1/namespaces/{one.namespace}/secrets/{one.secret}").get("data") or {}
    names = ("ca.crt", "tls.key", "tls.crt")
    if not all(data.get(name) for name in names):  # the chart makes it empty
        return False
    target = api.address.folder / one.deployment / CERTIFICATES
    if not target.exists():
        # All at once, as kubelet does: it looks for one of them and reads the others.
        apart = target.with_name("apart")
        apart.mkdir(parents=True)
        for name in names:
            (apart / name).write_bytes(b64decode(data[name]))
        apart.rename(target)
    return True


def _ready(port: int) -> bool:
    with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
        return bool(answer.status == 200)
