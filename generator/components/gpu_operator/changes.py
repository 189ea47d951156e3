"""What changes of GPUs' software mean: by the operator's chart, by its policy, and by the labels that split GPUs.

Of drivers: gpu-operator v26.7.0, `assets/state-driver/0500_daemonset.yaml` (OnDelete) and
`controllers/upgrade_controller.go`.
"""

from typing import Any

from msgspec import structs

from generator.model.change import CHART, ChangeRule, Effect, FieldChange, ObjectChange, named, value_at

RELEASE = "gpu-operator"
POLICY = (CHART, "nvidia.com/ClusterPolicy")
UPGRADES = "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-driver-upgrades.html"
DRIVER = (
    "version", "image", "repository", "kernelModuleType", "kernelModuleConfig", "env", "args", "rdma", "usePrecompiled",
    "repoConfig", "certConfig", "licensingConfig", "virtualTopology", "useOpenKernelModules", "manager",
)  # fmt: skip
EMPTIED = "the operator takes node after node: cordons it, deletes its GPU pods, reloads the driver, uncordons it"
SPLITTING = "nvidia.com/mig.config"


def ours(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether it is the operator's chart or its policy."""
    return change.kind != CHART or change.name == RELEASE


def both(*ways: str) -> tuple[str, ...]:
    """Return ways of the chart's values and of the policy, which has the same ones."""
    return tuple(f"{top}.{way}" for top in ("values", "spec") for way in ways)


def upgrades_itself(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the operator brings a new driver to nodes without waiting for people; its default."""
    top = "values" if change.kind == CHART else "spec"
    said: Any = value_at(change.new, f"{top}.driver.upgradePolicy.autoUpgrade")
    return ours(change, field) and said is not False


def goes_off(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether drivers are no longer the operator's."""
    return ours(change, field) and field.new is False


def comes_on(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the operator begins to upgrade drivers by itself."""
    return ours(change, field) and field.new is True


def splits(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the rule labels nodes for the MIG manager."""
    return SPLITTING in repr((change.old, change.new))


def slices(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the rule labels nodes for the device plugin's configuration."""
    return "nvidia.com/device-plugin.config" in repr((change.old, change.new))


SPLIT = (
    "the MIG manager stops the GPU clients that it knows on the nodes that the rule names, and splits the GPUs anew; "
    "some need a restart of the node for it; pods of users go on until somebody stops them, and hold it up"
)
EMPTY_FIRST = (
    "empty those nodes of GPU jobs first (`kubectl drain --timeout=30m`), and let quotas and jobs ask for the new "
    "resources"
)
MIG = "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html"

OF_MIG = ChangeRule(
    code="",
    kinds=("nfd.k8s-sigs.io/NodeFeatureRule",),
    effect=Effect.DRAIN,
    reason=SPLIT,
    instead=EMPTY_FIRST,
    link=MIG,
    when=splits,
)

DRIVERS = (
    ChangeRule(
        code="GEN-CHG-280",
        kinds=POLICY,
        paths=both(*(f"driver.{way}" for way in DRIVER)),
        effect=Effect.BY_HAND,
        reason="the new driver waits on each node until its driver pod is deleted; until then the old one runs",
        instead="`gen workflow submit driver-upgrade` (node by node it empties it of GPU jobs, has its driver pod made "
        "anew, waits for its validator, and tries its devices), or the same by hand",
        link=UPGRADES,
        when=ours,
    ),
    ChangeRule(
        code="GEN-CHG-281",
        kinds=POLICY,
        paths=both(*(f"driver.{way}" for way in DRIVER)),
        effect=Effect.DRAIN,
        reason=f"{EMPTIED}; jobs there are lost, gangs with them",
        instead="`driver.upgradePolicy.autoUpgrade: false` (gen's default), then node by node when its jobs are done",
        link=UPGRADES,
        when=upgrades_itself,
    ),
    ChangeRule(
        code="GEN-CHG-282",
        kinds=POLICY,
        paths=both("driver.enabled"),
        effect=Effect.OUTAGE,
        reason="driver pods go, and kernel modules with them: no GPU works until the nodes bring a driver of their "
        "own, of the version that user space expects",
        instead="node by node: drain, install the system's driver, restart the node; then this",
        when=goes_off,
    ),
    ChangeRule(
        code="GEN-CHG-283",
        kinds=POLICY,
        paths=both("driver.nvidiaDriverCRD"),
        effect=Effect.DRAIN,
        reason="drivers are taken from one owner and given to another: each node's GPUs are reloaded",
        instead="in two steps, node by node: first the NVIDIADriver objects, then this",
        when=ours,
    ),
    ChangeRule(
        code="GEN-CHG-284",
        kinds=POLICY,
        paths=both("driver.upgradePolicy"),
        effect=Effect.NONE,
        reason="it counts at the next change of the driver",
        when=ours,
    ),
    ChangeRule(
        code="GEN-CHG-285",
        kinds=POLICY,
        paths=both("driver.upgradePolicy.autoUpgrade"),
        effect=Effect.DRAIN,
        reason=f"from now on, for any driver that waits as well, {EMPTIED}",
        instead="leave it off, and upgrade node by node when jobs are done",
        link=UPGRADES,
        when=comes_on,
    ),
    ChangeRule(
        code="GEN-CHG-286",
        kinds=(CHART,),
        paths=("version",),
        effect=Effect.BY_HAND,
        reason="a new chart brings another default driver, unless `driver.version` names one, which waits on each node "
        "until its driver pod is deleted; its other pods on GPU nodes are replaced, and containerd is restarted there",
        instead="pin `driver.version` to what runs, and move the driver in a change of its own",
        link=UPGRADES,
        when=named(RELEASE),
    ),
    ChangeRule(
        code="GEN-CHG-287",
        kinds=(CHART,),
        paths=("version",),
        effect=Effect.DRAIN,
        reason="a new chart brings another default driver, unless `driver.version` names one; with `autoUpgrade` "
        f"{EMPTIED}",
        instead="pin `driver.version` to what runs, and move the driver in a change of its own",
        link=UPGRADES,
        when=lambda change, field: change.name == RELEASE and upgrades_itself(change, field),
    ),
    ChangeRule(
        code="GEN-CHG-288",
        kinds=("nvidia.com/NVIDIADriver",),
        paths=("spec.driverType", "spec.usePrecompiled"),
        effect=Effect.IMPOSSIBLE,
        reason="the API server refuses it",
        instead="another NVIDIADriver under a name of its own",
    ),
)

ON_NODES = (
    ChangeRule(
        code="GEN-CHG-290",
        kinds=POLICY,
        paths=both("toolkit", "cdi"),
        effect=Effect.RESTART,
        reason="containerd is restarted on each GPU node; containers run on, and with a wrong path of containerd's no "
        "new GPU pod starts",
        instead="try it on one node first",
        when=ours,
    ),
    ChangeRule(
        code="GEN-CHG-291",
        kinds=POLICY,
        paths=both("mig.strategy", "devicePlugin.config"),
        effect=Effect.BY_HAND,
        reason="the device plugin restarts and offers GPUs under other names or numbers: jobs that ask for the old "
        "ones wait for ever",
        instead="quotas, flavors and the users' jobs must follow in the same breath",
        when=ours,
    ),
    ChangeRule(
        code="GEN-CHG-292",
        kinds=POLICY,
        paths=both("operator", "daemonsets", "dcgm", "dcgmExporter", "devicePlugin", "migManager", "gfd", "validator"),
        effect=Effect.ROLLING,
        reason="its pods are replaced one after the other; jobs keep their GPUs",
        when=ours,
    ),
    ChangeRule(
        code="GEN-CHG-293",
        kinds=POLICY,
        paths=both("gds", "gdrcopy"),
        effect=Effect.BY_HAND,
        reason="its kernel module comes with the driver pod; once it is loaded the device plugin puts every HCA into "
        "every GPU pod",
        instead="node by node: empty it of GPU jobs, delete its driver pod",
        when=ours,
    ),
    ChangeRule(
        code="GEN-CHG-294",
        kinds=("nvidia.com/ClusterPolicy",),
        on="removed",
        effect=Effect.OUTAGE,
        reason="drivers, device plugins and all else of the operator go from every GPU node",
    ),
    ChangeRule(
        code="GEN-CHG-295",
        kinds=(CHART,),
        on="removed",
        effect=Effect.OUTAGE,
        reason="drivers, device plugins and all else of the operator go from every GPU node",
        when=named(RELEASE),
    ),
    structs.replace(OF_MIG, code="GEN-CHG-296", paths=("spec.rules.*.*",)),
    structs.replace(OF_MIG, code="GEN-CHG-297", on="added"),
    structs.replace(OF_MIG, code="GEN-CHG-298", on="removed"),
    ChangeRule(
        code="GEN-CHG-299",
        kinds=("nfd.k8s-sigs.io/NodeFeatureRule",),
        paths=("spec.rules.*.*",),
        effect=Effect.BY_HAND,
        reason="the device plugin restarts on the nodes that the rule names, and offers another number of GPUs; pods "
        "that run keep theirs",
        instead="quotas must follow",
        when=slices,
    ),
)

CHANGES = (*DRIVERS, *ON_NODES)
