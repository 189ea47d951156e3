"""NVIDIA's GPU Operator: drivers, container toolkit, device plugin, MIG and GPU metrics."""

from collections.abc import Iterator

from generator.components.common import CLUSTER_ROLES, CRD, prometheus_crds, proxy_variables
from generator.components.component import Chart, Component, Health, Ignore, Manifest, Namespace, Release, Tier
from generator.components.definition import Definition, Download, ImageJoining, Version, Versions
from generator.components.node_feature_discovery import feature_rule
from generator.components.operated import Api, Made, MadePods, OperatedKind
from generator.components.parts import tolerations
from generator.components.static import read_text
from generator.model.cluster import Cluster
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
VENDOR = "nvidia.com/"
"""How the names of its resources and labels begin."""
GPU = f"{VENDOR}gpu"
MIG = f"{VENDOR}mig-"
WHOLE = "all-disabled"
"""The MIG profile of GPUs that are not split."""
# Into how many instances of so many slices one GPU can be split at most.
SLICES = {"A30": 4}
MOST_SLICES = 7
# The API server fills these in, and the chart never writes them.
FILLED_IN = ("/spec/cdi/default", "/spec/hostPaths/kubeletRootDir")

# The toolkit's drop-in repeats the CRI section of what it reads. `containerd config dump`, its default, prints the
# newest format, and a drop-in newer than our file stops containerd (2.3) or hides the file's own section (2.0 to 2.2).
# Devices go only to pods that the device plugin gave them to, by CDI: by default the toolkit believes the variable of
# any pod with the operator's runtime class. The operator's own pods are privileged, whom it believes still
# (container-toolkit v1.20.0: internal/config/image; gpu-operator v26.7.0: assets).
TOOLKIT = [
    {"name": "RUNTIME_CONFIG_SOURCE", "value": "file"},
    {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"},
]


def gpu_operator(cluster: Cluster) -> Component:
    """Install the operator where there are GPUs. Device plugin and DCGM exporter come with it alone."""
    version = VERSIONS.of(cluster)
    return Component(
        name="gpu-operator",
        tier=DEFINITION.tier,
        summary="GPU drivers, device plugin and metrics",
        version=version.version,
        namespaces=(Namespace(NAMESPACE, security="privileged"),),
        objects=tuple(mig_rules(cluster.gpu_nodes)),
        releases=(
            Release(
                version.chart("gpu-operator"),
                "gpu-operator",
                NAMESPACE,
                values(cluster),
                # Deletes GPU claims when the chart goes; there are none, and nothing may go with an Application.
                hooks={"gpu-operator-cleanup-gpucluster": "drop"},
            ),
        ),
        needs=("node-feature-discovery", *prometheus_crds(cluster)),
        # `ignored` is the state of a second policy: there may be one.
        health=(Health("nvidia.com", "ClusterPolicy", read_text("gpu_operator/health.lua")),),
        ignore=(Ignore(group="nvidia.com", kind="ClusterPolicy", pointers=FILLED_IN),),
        kinds=DEFINITION.chart_kinds,
    )


def values(cluster: Cluster) -> Manifest:
    """Return the chart's values. For drivers that come with the nodes' own system, set `driver.enabled: false` in
    the component's values.
    """
    return {
        "nfd": {"enabled": False},
        "psa": {"enabled": False},
        "cdi": {"enabled": True, "nriPluginEnabled": False},
        "operator": {"upgradeCRD": False, "cleanupCRD": False, "tolerations": tolerations(cluster.control_plane)},
        "daemonsets": {"tolerations": tolerations(cluster.gpu_nodes)},
        "driver": driver(cluster),
        "toolkit": {"enabled": True, "env": TOOLKIT},
        **mig(cluster.gpu_nodes),
        "dcgm": {"enabled": False},
        "dcgmExporter": exporter(prometheus=cluster.monitoring.prometheus is not None),
        # With either of these, or a loaded nvidia_fs, the device plugin puts every HCA into every GPU pod.
        "gds": {"enabled": False},
        "gdrcopy": {"enabled": False},
    }


def driver(cluster: Cluster) -> Manifest:
    """Open kernel modules, so that NICs reach GPU memory by DMA-BUF and no peermem module is needed. The container
    downloads packages at its start, through the site's proxy if there is one.

    A new driver waits on each node until its pod is deleted. By itself the operator would evict jobs pod by pod, which
    breaks gangs, and knows only some of their kinds: `waitForCompletion` takes one label, and pods with an emptyDir
    (/dev/shm) stop the upgrade with the node cordoned.
    """
    variables = [{"name": name, "value": value} for name, value in proxy_variables(cluster).items()]
    return {
        "enabled": True,
        "kernelModuleType": "open",
        "rdma": {"enabled": False, "useHostMofed": False},
        "nvidiaDriverCRD": {"enabled": False},
        "upgradePolicy": {"autoUpgrade": False},
        **({"env": variables} if variables else {}),
    }


def downloads(values: Manifest) -> Download | None:
    """Tell of the driver's packages, unless the values say that it needs none or where it gets them."""
    driver = values.get("driver")
    said = driver if isinstance(driver, dict) else {}
    if said.get("enabled") is False or said.get("usePrecompiled") or said.get("repoConfig"):
        return None
    return Download("packages for GPU drivers", "driver.usePrecompiled, driver.repoConfig or `driver.enabled: false`")


def mig(machines: tuple[Machine, ...]) -> Manifest:
    """Split GPUs where a pool asks for it; other GPUs are told to stay whole. The strategy is the cluster's: mixed
    as soon as one pool asks for that.
    """
    strategies = mig_strategies(machines)
    return {
        "mig": {"strategy": "mixed" if "mixed" in strategies else "single"},
        "migManager": {"enabled": bool(strategies), "config": {"default": WHOLE}},
    }


def mig_strategies(machines: tuple[Machine, ...]) -> set[str]:
    """Return the strategies that pools with split GPUs ask for."""
    gpus = (machine.hardware.gpu for machine in machines)
    return {gpu.mig.strategy for gpu in gpus if gpu and gpu.mig}


def mig_rules(machines: tuple[Machine, ...]) -> Iterator[Manifest]:
    """Yield for each MIG profile the rule that labels its nodes. The manager splits GPUs by that label, and the
    operator itself sets no other than `all-disabled` (read in its source).
    """
    names: dict[str, list[str]] = {}
    for machine in machines:
        if machine.hardware.gpu and machine.hardware.gpu.mig:
            names.setdefault(machine.hardware.gpu.mig.profile, []).append(machine.name)
    for profile, nodes in sorted(names.items()):
        labels, named = {f"{VENDOR}mig.config": profile}, {"nodename": sorted(nodes)}
        yield feature_rule(f"mig-{profile.lower()}", f"MIG {profile}", labels, "system.name", named)


def exporter(*, prometheus: bool) -> Manifest:
    """Measure GPUs on port 9400 of each GPU node's exporter, for Prometheus or Zabbix; nothing closes that port.
    Labels of the pod that holds a GPU are added for Prometheus, the few that say whose job it is.
    """
    return {
        "enabled": True,
        "serviceMonitor": {"enabled": prometheus},
        "enablePodLabels": prometheus,
        "podLabelAllowlistRegex": [r"^kueue\.x-k8s\.io/queue-name$", r"^batch\.kubernetes\.io/job-name$"],
    }


def offers(cluster: Cluster, machine: Machine) -> dict[str, int | None]:
    """Return a node's GPUs or, of split ones, the most instances there can be. Nobody can tell where the component's
    values share GPUs by time, or name them otherwise.
    """
    gpu = machine.hardware.gpu
    if gpu is None or not gpu.count:
        return {}
    if "devicePlugin" in cluster.settings("gpu-operator").values:
        return {VENDOR: None}
    if gpu.mig is None or gpu.mig.profile == WHOLE:
        return {GPU: gpu.count}
    name = gpu.mig.profile.removeprefix("all-")
    slices, mark, _ = name.partition("g.")
    if not (mark and slices.isdecimal() and int(slices)):
        return {VENDOR: None}
    most = max(1, SLICES.get(gpu.model, MOST_SLICES) // int(slices))
    return {f"{MIG}{name}" if "mixed" in mig_strategies(cluster.machines) else GPU: gpu.count * most}


def exporter_pods(_policy: Manifest) -> Iterator[MadePods]:
    """Yield the pods that other components select."""
    yield MadePods({"app": "nvidia-dcgm-exporter"}, NAMESPACE)


# v26.7.0: internal/image/image.go; for the system controllers/object_controls.go `resolveDriverTag` and
# api/nvidia/v1alpha1/nvidiadriver_types.go.
JOINING = ImageJoining(
    group="nvidia.com",
    system_added={
        "ClusterPolicy": ("spec.driver", "spec.gds", "spec.gdrcopy", "spec.vgpuManager"),
        "NVIDIADriver": ("spec", "spec.gds", "spec.gdrcopy"),
    },
)
DEFINITION = Definition(
    name="gpu-operator",
    tier=Tier.GPU,
    make=gpu_operator,
    wanted=lambda cluster: cluster.gpu_nodes,
    absence="no node has GPUs",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    chart_kinds=(CRD, "nvidia.com/ClusterPolicy", *CLUSTER_ROLES),
    apis=(Api(group="nvidia.com"),),
    brings=(Made("RuntimeClass", "nvidia"),),
    kinds=(
        OperatedKind(
            kind="ClusterPolicy",
            pods=exporter_pods,
            tolerations=("spec", "daemonsets", "tolerations"),
            serves=GPU,
        ),
    ),
    resources=(GPU, MIG),
    offers=offers,
    node_labels=(VENDOR,),
    downloads=downloads,
    notes="Open kernel modules, so that network cards reach GPU memory by DMA-BUF. A new driver waits on each node "
    "until its driver pod is deleted: empty the node of jobs first. The toolkit's drop-in for containerd repeats what "
    "config.toml said when it ran: after a change there, restart its pods. For drivers that come with the nodes' "
    "system set `driver.enabled: false` in the component's values. MIG profiles are set by NodeFeatureRules, which "
    "label the nodes of a pool.",
    image_joining=JOINING,
)
