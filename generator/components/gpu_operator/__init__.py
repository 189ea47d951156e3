"""NVIDIA's GPU Operator: drivers, container toolkit, device plugin, MIG and GPU metrics."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, CRD, OWN_LABELS, proxy_variables
from generator.components.component import Chart, Component, Manifest, Tier
from generator.components.definition import Definition, Download, Evidence, ImageJoining, Version, Versions
from generator.components.kuberay import CLUSTER_LABEL
from generator.components.kueue import QUEUE
from generator.components.mpi_operator import JOB_LABEL
from generator.components.node_feature_discovery import RULES
from generator.components.operated import Api, Made, MadePods, OperatedKind
from generator.components.parts import NODE_LABEL, tolerations
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster
from generator.model.gpus import GPU, MIG, VENDOR, WHOLE, devices
from generator.model.nodes import Machine

VERSIONS = Versions(
    "gpu-operator",
    (
        Version(
            version="v26.7.0",
            charts=(Chart(name="gpu-operator", repository="https://helm.ngc.nvidia.com/nvidia", version="v26.7.0"),),
            schemas=("gpu-operator/v26.7.0",),
            kubernetes=(33, 36),
        ),
    ),
)

NAMESPACE = "gpu-operator"
SICK = f"{OWN_LABELS}/gpu-sick"
"""The taint of nodes with a sick GPU, which `gpu-care` sets: its own pods must run there all the same."""
# k8s-driver-manager v0.12.0: cmd/driver-manager/main.go, `uninstallDriver`.
MANAGER_ACTS = ("ENABLE_GPU_POD_EVICTION", "ENABLE_AUTO_DRAIN")
"""Variables of the driver's manager by which it evicts, cordons and uncordons."""
DOT = r"\."
JOB_LABELS = (QUEUE, "batch.kubernetes.io/job-name", JOB_LABEL, CLUSTER_LABEL)
"""Labels of pods that say whose job they are: of Jobs, which JobSets and TrainJobs are made of as well, of MPIJobs and
TFJobs, and of Ray clusters."""
UNSHARED = "unshared"
"""The device plugin's configuration on nodes whose GPUs are not shared by time."""

# The toolkit's drop-in repeats the CRI section of what it reads. `containerd config dump`, its default, prints the
# newest format, and a drop-in newer than our file stops containerd (2.3) or hides the file's own section (2.0 to 2.2).
# Devices go only to pods that the device plugin gave them to, by CDI: by default the toolkit believes the variable of
# any pod with the operator's runtime class. The operator's own pods are privileged, whom it believes still
# (container-toolkit v1.20.0: internal/config/image; gpu-operator v26.7.0: assets).
TOOLKIT = [
    {"name": "RUNTIME_CONFIG_SOURCE", "value": "file"},
    {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"},
]
EXPORTER, EXPORTER_PORT = {"app": "nvidia-dcgm-exporter"}, 9400
"""Labels of the pods that tell of GPUs, and where."""


def gpu_operator(cluster: Cluster) -> Component:
    """Install the operator where there are GPUs."""
    from generator.components.gpu_operator.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. For drivers that come with the nodes' own system, set `driver.enabled: false` in
    the component's values.
    """
    return {
        "nfd": {"enabled": False},
        "psa": {"enabled": False},
        "cdi": {"enabled": True, "nriPluginEnabled": False},
        "operator": {"upgradeCRD": False, "cleanupCRD": False, "tolerations": tolerations(cluster.control_plane)},
        "daemonsets": {"tolerations": [*tolerations(cluster.gpu_nodes), *of_sick(cluster)]},
        "driver": driver(cluster),
        "toolkit": {"enabled": True, "env": TOOLKIT},
        **mig(cluster),
        **time_slicing(cluster),
        "dcgm": {"enabled": False},
        "dcgmExporter": exporter(cluster),
        # With either of these, or a loaded nvidia_fs, the device plugin puts every HCA into every GPU pod.
        "gds": {"enabled": False},
        "gdrcopy": {"enabled": False},
    }


def of_sick(cluster: Cluster) -> list[Manifest]:
    """Return the toleration of the taint of nodes with a sick GPU: there, too, the operator's pods must come again, for
    the GPUs are healthy only once device plugin and exporter have started anew.
    """
    return [{"key": SICK, "operator": "Exists", "effect": "NoSchedule"}] if cluster.gpu_care else []


def driver(cluster: Cluster) -> Manifest:
    """Open kernel modules, so that NICs reach GPU memory by DMA-BUF and no peermem module is needed. The container
    downloads packages at its start, through the site's proxy if there is one.

    A new driver waits on each node until its pod is deleted. By itself the operator would evict jobs pod by pod, which
    breaks gangs, and knows only some of their kinds: `waitForCompletion` takes one label, and pods with an emptyDir
    (/dev/shm) stop the upgrade with the node cordoned. Nor may the driver's manager, which runs before each driver,
    after a restart of its node as well: it evicts likewise, and then uncordons the node, whoever had cordoned it.
    """
    variables = [{"name": name, "value": value} for name, value in proxy_variables(cluster).items()]
    return {
        "enabled": True,
        "kernelModuleType": "open",
        "rdma": {"enabled": False, "useHostMofed": False},
        "nvidiaDriverCRD": {"enabled": False},
        "upgradePolicy": {"autoUpgrade": False},
        "manager": {"env": [{"name": name, "value": "false"} for name in MANAGER_ACTS]},
        **({"env": variables} if variables else {}),
    }


def downloads(values: Manifest) -> Download | None:
    """Tell of the driver's packages, unless the values say that it needs none or where it gets them."""
    driver = values.get("driver")
    said = driver if isinstance(driver, dict) else {}
    if said.get("enabled") is False or said.get("usePrecompiled") or said.get("repoConfig"):
        return None
    return Download("packages for GPU drivers", "driver.usePrecompiled, driver.repoConfig or `driver.enabled: false`")


def mig(cluster: Cluster) -> Manifest:
    """Split GPUs where a pool asks for it; other GPUs are told to stay whole."""
    split = any(machine.hardware.gpu and machine.hardware.gpu.mig for machine in cluster.gpu_nodes)
    return {
        "mig": {"strategy": cluster.gpus.mig_strategy},
        "migManager": {"enabled": split, "config": {"default": WHOLE}},
    }


def own_mig_configurations(cluster: Cluster) -> bool:
    """Tell whether the component's values bring configurations for the MIG manager: then it makes none by itself."""
    manager = cluster.settings("gpu-operator").values.get("migManager")
    config = manager.get("config") if isinstance(manager, dict) else None
    return isinstance(config, dict) and bool(config.get("name"))


def time_slicing(cluster: Cluster) -> Manifest:
    """Let pods take turns on GPUs where a pool asks for it: one configuration of the device plugin for each number of
    turns, which a node's label chooses, and one for all other nodes. The plugin reads them when it starts, so the
    ConfigMap is named for what is in it: another name starts it anew.
    """
    shared = time_sliced(cluster.gpu_nodes)
    if not shared:
        return {}
    head = f"version: v1\nflags:\n  migStrategy: {cluster.gpus.mig_strategy}\n"
    data = {UNSHARED: head}
    for slices, machines in shared.items():
        names = sorted({name for machine in machines for name in devices(cluster.gpus, machine.hardware.gpu)})
        resources = "".join(f"      - {{name: {name}, replicas: {slices}}}\n" for name in names)
        data[turns(slices)] = f"{head}sharing:\n  timeSlicing:\n    resources:\n{resources}"
    from hashlib import sha256  # noqa: PLC0415 - it loads OpenSSL, which most clusters need not wait for

    name = f"time-slicing-{sha256(repr(data).encode()).hexdigest()[:8]}"
    return {"devicePlugin": {"config": {"create": True, "name": name, "default": UNSHARED, "data": data}}}


def time_sliced(machines: tuple[Machine, ...]) -> dict[int, list[Machine]]:
    """Return the nodes whose GPUs are shared by time, by how many pods share one."""
    found: dict[int, list[Machine]] = {}
    for machine in machines:
        if machine.hardware.gpu and machine.hardware.gpu.time_slices:
            found.setdefault(machine.hardware.gpu.time_slices, []).append(machine)
    return dict(sorted(found.items()))


def turns(slices: int) -> str:
    """Name the device plugin's configuration for so many pods on a GPU."""
    return f"time-slices-{slices}"


def exporter(cluster: Cluster) -> Manifest:
    """Measure GPUs on each GPU node's exporter, for Prometheus or Zabbix, whose agents ask from the node itself.
    Labels of the pod that holds a GPU are added for Prometheus, the few that say whose job it is.
    """
    prometheus = cluster.monitoring.prometheus is not None
    made: Manifest = {
        "enabled": True,
        "serviceMonitor": {"enabled": True, "relabelings": [NODE_LABEL]} if prometheus else {"enabled": False},
        "enablePodLabels": prometheus,
        "podLabelAllowlistRegex": [f"^{label.replace('.', DOT)}$" for label in JOB_LABELS],
    }
    if prometheus and cluster.monitoring.zabbix is None and time_sliced(cluster.gpu_nodes):
        # Else a GPU that several pods share has no pod's labels, or one's. Zabbix would find such a GPU several times.
        made["env"] = [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]
    return made


def offers(cluster: Cluster, machine: Machine) -> dict[str, int | None]:
    """Return a node's GPUs as pods ask for them. Nobody can tell where the component's values tell the device plugin
    otherwise.
    """
    found = devices(cluster.gpus, machine.hardware.gpu)
    return {VENDOR: None} if found and "devicePlugin" in cluster.settings("gpu-operator").values else {**found}


def exporter_pods(_policy: Manifest) -> Iterator[MadePods]:
    """Yield the pods that other components select."""
    yield MadePods(EXPORTER, NAMESPACE)


# v26.7.0: internal/image/image.go; for the system controllers/object_controls.go `resolveDriverTag` and
# api/nvidia/v1alpha1/nvidiadriver_types.go.
JOINING = ImageJoining(
    group="nvidia.com",
    system_added={
        "ClusterPolicy": ("spec.driver", "spec.gds", "spec.gdrcopy", "spec.vgpuManager"),
        "NVIDIADriver": ("spec", "spec.gds", "spec.gdrcopy"),
    },
)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects mean."""
    from generator.components.gpu_operator.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="gpu-operator",
    tier=Tier.GPU,
    make=gpu_operator,
    wanted=lambda cluster: cluster.gpu_nodes,
    absence="no node has GPUs",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, "nvidia.com/ClusterPolicy", *CLUSTER_ROLES),
    own_kinds=RULES,
    apis=(Api(group="nvidia.com"),),
    brings=(Made("RuntimeClass", "nvidia"),),
    kinds=(
        OperatedKind(
            kind="ClusterPolicy",
            group="nvidia.com",
            status={"namespace": NAMESPACE, "state": "ready"},
            pods=exporter_pods,
            tolerations=("spec", "daemonsets", "tolerations"),
            serves=GPU,
        ),
    ),
    resources=(GPU, MIG),
    offers=offers,
    node_labels=(VENDOR,),
    downloads=downloads,
    changes=change_rules,
    shown_by=Evidence(images=("/gpu-operator", "/k8s-device-plugin")),
    notes="Open kernel modules, so that network cards reach GPU memory by DMA-BUF. A new driver waits on each node "
    "until the operation `driver-upgrade` brings it there. The toolkit's drop-in for containerd repeats what "
    "config.toml said when it ran: after a change there, restart its pods. For drivers that come with the nodes' "
    "system set `driver.enabled: false` in the component's values. MIG profiles are set by NodeFeatureRules, which "
    "label the nodes of a pool; the device plugin's configurations for GPUs shared by time likewise.",
    image_joining=JOINING,
)
