"""Pods at the edges of the Pod Security levels, with the strictest level that still takes each."""

from copy import deepcopy
from typing import Any

NONE: Any = ...
"""Stands for a field that is taken away."""

GOOD: dict[str, Any] = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "main",
            "image": "example.org/x:1.0.0",
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}
MAIN = "containers.0"
CONTEXT = f"{MAIN}.securityContext"
PROBE = {"httpGet": {"port": 80, "host": "10.0.0.1"}}
ALL_OTHERS = {
    "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
    "allowPrivilegeEscalation": False,
}
INIT = [{**GOOD["containers"][0], "name": "first"}]

# What is changed in a pod that is right for `restricted`, and the strictest level that still takes it.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("restricted", {}),
    ("restricted", {"initContainers": INIT}),
    ("baseline", {"initContainers": [{"name": "first", "image": "x:1.0.0"}]}),
    (
        "privileged",
        {"initContainers": [{"name": "first", "image": "x:1.0.0", "securityContext": {"privileged": True}}]},
    ),
    ("privileged", {"hostNetwork": True}),
    ("privileged", {"hostPID": True}),
    ("privileged", {"hostIPC": True}),
    ("restricted", {"hostNetwork": False, "hostPID": False, "hostIPC": False}),
    ("privileged", {f"{CONTEXT}.privileged": True, f"{CONTEXT}.allowPrivilegeEscalation": NONE}),
    ("restricted", {f"{CONTEXT}.privileged": False}),
    ("privileged", {f"{CONTEXT}.capabilities": {"drop": ["ALL"], "add": ["NET_RAW"]}}),
    ("privileged", {f"{CONTEXT}.capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}}),
    ("privileged", {f"{CONTEXT}.capabilities": {"drop": ["ALL"], "add": ["CAP_CHOWN"]}}),
    ("baseline", {f"{CONTEXT}.capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}),
    ("restricted", {f"{CONTEXT}.capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}),
    ("baseline", {f"{CONTEXT}.capabilities": {"drop": ["all"]}}),
    ("baseline", {f"{CONTEXT}.capabilities": {"drop": ["NET_RAW"]}}),
    ("baseline", {f"{CONTEXT}.capabilities": NONE}),
    ("privileged", {"volumes": [{"name": "v", "hostPath": {"path": "/var/log"}}]}),
    ("baseline", {"volumes": [{"name": "v", "nfs": {"server": "nfs.example.org", "path": "/"}}]}),
    (
        "baseline",
        {
            "volumes": [
                {"name": "v", "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.org.example:d", "lun": 0}}
            ]
        },
    ),
    ("restricted", {"volumes": [{"name": "v"}]}),
    ("restricted", {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "c", "csi": {"driver": "x.example.org"}}]}),
    ("restricted", {"volumes": [{"name": "v", "image": {"reference": "example.org/x:1.0.0"}}]}),
    ("restricted", {"volumes": [{"name": "v", "projected": {"sources": []}}]}),
    ("privileged", {f"{MAIN}.ports": [{"containerPort": 80, "hostPort": 80}]}),
    ("restricted", {f"{MAIN}.ports": [{"containerPort": 80, "hostPort": 0}]}),
    ("restricted", {f"{MAIN}.ports": [{"containerPort": 80}]}),
    ("privileged", {f"{MAIN}.livenessProbe": PROBE}),
    ("privileged", {f"{MAIN}.readinessProbe": {"tcpSocket": {"port": 80, "host": "10.0.0.1"}}}),
    ("privileged", {f"{MAIN}.startupProbe": PROBE}),
    ("privileged", {f"{MAIN}.lifecycle": {"postStart": PROBE}}),
    ("privileged", {f"{MAIN}.lifecycle": {"preStop": PROBE}}),
    ("restricted", {f"{MAIN}.livenessProbe": {"httpGet": {"port": 80, "host": ""}}}),
    ("restricted", {f"{MAIN}.lifecycle": {"preStop": {"exec": {"command": ["true"]}}}}),
    ("privileged", {"securityContext.appArmorProfile": {"type": "Unconfined"}}),
    ("privileged", {f"{CONTEXT}.appArmorProfile": {"type": "Unconfined"}}),
    ("restricted", {f"{CONTEXT}.appArmorProfile": {"type": "Localhost", "localhostProfile": "x"}}),
    ("privileged", {"annotation": "unconfined"}),
    ("restricted", {"annotation": "localhost/x"}),
    ("privileged", {"securityContext.seLinuxOptions": {"type": "spc_t"}}),
    ("privileged", {f"{CONTEXT}.seLinuxOptions": {"user": "root"}}),
    ("privileged", {f"{CONTEXT}.seLinuxOptions": {"role": "root"}}),
    ("restricted", {f"{CONTEXT}.seLinuxOptions": {"type": "container_engine_t", "level": "s0"}}),
    ("restricted", {"securityContext.seLinuxOptions": {"type": ""}}),
    ("restricted", {f"{CONTEXT}.procMount": "Default"}),
    ("baseline", {f"{CONTEXT}.procMount": "Unmasked", "hostUsers": False}),
    ("privileged", {"securityContext.seccompProfile": {"type": "Unconfined"}}),
    ("privileged", {f"{CONTEXT}.seccompProfile": {"type": "Unconfined"}}),
    ("baseline", {"securityContext.seccompProfile": NONE}),
    ("restricted", {"securityContext.seccompProfile": NONE, f"{CONTEXT}.seccompProfile": {"type": "RuntimeDefault"}}),
    ("restricted", {"securityContext.seccompProfile": {"type": "Localhost", "localhostProfile": "x"}}),
    ("privileged", {"securityContext.sysctls": [{"name": "kernel.msgmax", "value": "1"}]}),
    ("restricted", {"securityContext.sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}),
    ("restricted", {"securityContext.sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}),
    ("baseline", {f"{CONTEXT}.allowPrivilegeEscalation": True}),
    ("baseline", {f"{CONTEXT}.allowPrivilegeEscalation": NONE}),
    ("baseline", {"securityContext.runAsNonRoot": NONE}),
    ("baseline", {"securityContext.runAsNonRoot": False}),
    ("baseline", {"securityContext.runAsNonRoot": False, f"{CONTEXT}.runAsNonRoot": True}),
    ("restricted", {"securityContext.runAsNonRoot": NONE, f"{CONTEXT}.runAsNonRoot": True}),
    ("baseline", {f"{CONTEXT}.runAsNonRoot": False}),
    ("baseline", {"securityContext.runAsUser": 0}),
    ("baseline", {f"{CONTEXT}.runAsUser": 0}),
    ("restricted", {"securityContext.runAsUser": 1000, f"{CONTEXT}.runAsUser": 1}),
    ("restricted", {"hostUsers": False, f"{CONTEXT}.runAsUser": 0}),
    ("restricted", {"hostUsers": False, "securityContext.runAsNonRoot": NONE}),
    ("baseline", {"hostUsers": True, f"{CONTEXT}.runAsUser": 0}),
    ("privileged", {"hostNetwork": True, "securityContext.windowsOptions": {"hostProcess": True}}),
    (
        "restricted",
        {"os": {"name": "windows"}, "securityContext.seccompProfile": NONE, CONTEXT: {"runAsNonRoot": True}},
    ),
    ("baseline", {"os": {"name": "linux"}, CONTEXT: {"runAsNonRoot": True}}),
    ("restricted", {CONTEXT: ALL_OTHERS}),
]


def pod(namespace: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Make a pod that `restricted` takes, with fields changed."""
    spec = deepcopy(GOOD)
    metadata: dict[str, Any] = {"name": "x", "namespace": namespace}
    for path, value in changes.items():
        if path == "annotation":
            metadata["annotations"] = {"container.apparmor.security.beta.kubernetes.io/main": value}
        else:
            put(spec, path.split("."), value)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def put(part: Any, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        part = part[int(key)] if isinstance(part, list) else part.setdefault(key, {})
    if value is NONE:
        del part[keys[-1]]
    else:
        part[keys[-1]] = value


def good() -> dict[str, Any]:
    """Return the specification of a pod that every level takes."""
    return deepcopy(GOOD)
