"""The Pod Security Standards of Kubernetes 1.35 and what its API server changed in them since 1.25.

Facts: k8s.io/pod-security-admission 0.35.3, package policy; a test holds each control against a real API server.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from generator.build.pods import Pod, called, containers
from generator.components.common import RESTRICTED_VOLUMES
from generator.components.component import Manifest
from generator.model.fields import dig, mapping, sequence, spots
from generator.model.finding import Path
from generator.model.opening import written

NEWEST = 35
"""The minor whose rules are known; newer ones are judged by them."""

CAPABILITIES = {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}  # fmt: skip
SYSCTLS = {
    # The minor that allowed each.
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
SELINUX = {"", "container_t", "container_init_t", "container_kvm_t"}
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


class Violation(NamedTuple):
    """What a pod does that a level forbids, where in the pod, and the smallest change."""

    at: Path
    message: str
    fix: str


Control: TypeAlias = Callable[[Pod, int], Iterator[Violation]]
"""Yields what a pod violates by the rules of a Kubernetes minor."""


def every(pod: Pod) -> Iterator[tuple[Path, Manifest]]:
    """Yield all containers with their paths."""
    return containers(pod, "initContainers", "containers", "ephemeralContainers")


def contexts(pod: Pod) -> Iterator[tuple[Path, str, Manifest]]:
    """Yield the security context of the pod and of each container, with whose it is."""
    yield ("spec", "securityContext"), "the pod", mapping(pod.spec.get("securityContext"))
    for at, one in every(pod):
        yield (*at, "securityContext"), called(one), mapping(one.get("securityContext"))


def relaxed(pod: Pod, minor: int) -> bool:
    """Tell whether the pod has users of its own, so that its root is nobody on the node."""
    return minor >= 35 and pod.spec.get("hostUsers") is False


def windows(pod: Pod) -> bool:
    return bool(dig(pod.spec, "os", "name") == "windows")


def host_namespaces(pod: Pod, _minor: int) -> Iterator[Violation]:
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.spec.get(key) is True:
            yield Violation(("spec", key), f"the pod sets {key}", f"remove {key}")


def host_process(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, who, context in contexts(pod):
        if dig(context, "windowsOptions", "hostProcess") is True:
            there = (*at, "windowsOptions", "hostProcess")
            yield Violation(there, f"{who} sets windowsOptions.hostProcess", "remove hostProcess")


def privileged(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, one in every(pod):
        if dig(one, "securityContext", "privileged") is True:
            there = (*at, "securityContext", "privileged")
            yield Violation(there, f"{called(one)} is privileged", "remove privileged")


def added(one: Manifest) -> Iterator[tuple[Path, str]]:
    """Return the capabilities that a container adds."""
    return ((at, str(name)) for at, name in spots(one, "securityContext.capabilities.add.*"))


def capabilities(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, one in every(pod):
        for way, name in added(one):
            if name not in CAPABILITIES:
                yield Violation((*at, *way), f"{called(one)} adds the capability {name}", f"remove {name}")


def host_paths(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, volume in spots(pod.spec, "volumes.*"):
        if dig(volume, "hostPath") is not None:
            told = f"volume {dig(volume, 'name')} is the node's {written(dig(volume, 'hostPath', 'path'))}"
            yield Violation(("spec", *at, "hostPath"), told, "use an emptyDir or a claim")


def host_ports(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, one in every(pod):
        for way, port in spots(one, "ports.*.hostPort"):
            if port:
                told = f"{called(one)} takes port {port} of the node"
                yield Violation((*at, *way), told, "remove hostPort; use a Service")


def hosts_of_probes(pod: Pod, minor: int) -> Iterator[Violation]:
    ways = [(name,) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    hooks = [("lifecycle", name) for name in ("postStart", "preStop")]
    for at, one in every(pod) if minor >= 34 else ():
        for way in (*ways, *hooks):
            for handler in ("httpGet", "tcpSocket"):
                if host := dig(one, *way, handler, "host"):
                    told = f"{way[-1]} of {called(one)} asks host {host}"
                    yield Violation((*at, *way, handler, "host"), told, "remove host: the kubelet asks the pod itself")


def app_armor(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, who, context in contexts(pod):
        if is_wrong(dig(context, "appArmorProfile"), "RuntimeDefault", "Localhost"):
            told = f"{who} turns AppArmor off"
            yield Violation((*at, "appArmorProfile", "type"), told, "set it to RuntimeDefault")
    for key, value in mapping(pod.metadata.get("annotations")).items():
        allowed = str(value) in {"", "runtime/default"} or str(value).startswith("localhost/")
        if str(key).startswith(APPARMOR) and not allowed:
            there = ("metadata", "annotations", key)
            yield Violation(there, f"{str(key).removeprefix(APPARMOR)} runs without AppArmor", "remove the annotation")


def is_wrong(profile: Any, *allowed: str) -> bool:
    """Tell whether a profile is there and of another type."""
    return isinstance(profile, dict) and profile.get("type") not in allowed


def se_linux(pod: Pod, minor: int) -> Iterator[Violation]:
    allowed = SELINUX | ({"container_engine_t"} if minor >= 31 else set())
    for at, who, context in contexts(pod):
        options = mapping(context.get("seLinuxOptions"))
        wrong = [key for key in ("user", "role") if options.get(key)]
        wrong += ["type"] if str(options.get("type") or "") not in allowed else []
        for key in wrong:
            told = f"{who} sets the SELinux {key} {options[key]}"
            yield Violation((*at, "seLinuxOptions", key), told, f"remove {key}")


def proc_mount(pod: Pod, minor: int) -> Iterator[Violation]:
    if not relaxed(pod, minor):
        yield from unmasked(pod)


def proc_mount_of_own_users(pod: Pod, minor: int) -> Iterator[Violation]:
    if relaxed(pod, minor):
        yield from unmasked(pod)


def unmasked(pod: Pod) -> Iterator[Violation]:
    for at, one in every(pod):
        if dig(one, "securityContext", "procMount") not in (None, "Default"):
            there = (*at, "securityContext", "procMount")
            yield Violation(there, f"{called(one)} sees all of /proc", "remove procMount")


def seccomp_off(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, who, context in contexts(pod):
        if is_wrong(context.get("seccompProfile"), "RuntimeDefault", "Localhost"):
            there = (*at, "seccompProfile", "type")
            yield Violation(there, f"{who} turns seccomp off", "set it to RuntimeDefault")


def sysctls(pod: Pod, minor: int) -> Iterator[Violation]:
    for at, name in spots(pod.spec, "securityContext.sysctls.*.name"):
        if SYSCTLS.get(str(name), NEWEST + 1) > minor:
            yield Violation(("spec", *at), f"the pod sets the sysctl {name}", "set it on the nodes")


def volume_kinds(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, volume in spots(pod.spec, "volumes.*"):
        kinds = {key for key, value in mapping(volume).items() if key != "name" and value is not None}
        # Without a kind it is an emptyDir, and paths of the node are forbidden by `baseline` already.
        if kinds and not kinds & {*RESTRICTED_VOLUMES, "hostPath"}:
            told = f"volume {dig(volume, 'name')} is {', '.join(sorted(map(str, kinds)))}"
            yield Violation(("spec", *at), told, "use a claim")


def escalation(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, one in () if windows(pod) else every(pod):
        if dig(one, "securityContext", "allowPrivilegeEscalation") is not False:
            there = (*at, "securityContext", "allowPrivilegeEscalation")
            yield Violation(there, f"{called(one)} may gain privileges", "allowPrivilegeEscalation: false")


def drops(pod: Pod, _minor: int) -> Iterator[Violation]:
    for at, one in () if windows(pod) else every(pod):
        if "ALL" not in sequence(dig(one, "securityContext", "capabilities", "drop")):
            there = (*at, "securityContext", "capabilities", "drop")
            yield Violation(there, f"{called(one)} keeps capabilities", "capabilities: {drop: [ALL]}")
        for way, name in added(one):
            if name in CAPABILITIES - {"NET_BIND_SERVICE"}:
                yield Violation((*at, *way), f"{called(one)} adds the capability {name}", f"remove {name}")


def non_root(pod: Pod, minor: int) -> Iterator[Violation]:
    if relaxed(pod, minor):
        return
    inherited = False
    for at, who, context in contexts(pod):
        said = context.get("runAsNonRoot")
        if at == ("spec", "securityContext"):
            inherited = said is True
        if said is False or (said is None and at != ("spec", "securityContext") and not inherited):
            yield Violation((*at, "runAsNonRoot"), f"{who} may run as root", "runAsNonRoot: true")


def root(pod: Pod, minor: int) -> Iterator[Violation]:
    for at, who, context in () if relaxed(pod, minor) else contexts(pod):
        user = context.get("runAsUser")
        if user == 0 and not isinstance(user, bool):
            yield Violation((*at, "runAsUser"), f"{who} runs as root", "runAsUser: 1000")


def seccomp_on(pod: Pod, _minor: int) -> Iterator[Violation]:
    told: Any = mapping(dig(pod.spec, "securityContext", "seccompProfile")).get("type")
    if windows(pod) or told in ("RuntimeDefault", "Localhost"):
        return
    for at, one in every(pod):
        if not isinstance(dig(one, "securityContext", "seccompProfile"), dict):
            there = (*at, "securityContext", "seccompProfile")
            yield Violation(there, f"{called(one)} has no seccomp profile", "seccompProfile: {type: RuntimeDefault}")


BASELINE: tuple[Control, ...] = (
    host_process, host_namespaces, privileged, capabilities, host_paths, host_ports, hosts_of_probes, app_armor,
    se_linux, proc_mount, seccomp_off, sysctls,
)  # fmt: skip
"""What `baseline` forbids."""

RESTRICTED: tuple[Control, ...] = (volume_kinds, escalation, drops, non_root, root, seccomp_on, proc_mount_of_own_users)
"""What `restricted` forbids beyond `baseline`."""
