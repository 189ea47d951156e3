"""Images that are on nodes before jobs ask for them: those of frameworks have 20 GB, and GPUs wait for their pull."""

from generator.components.common import POOL
from generator.components.component import Component, Manifest, Namespace, Tier
from generator.components.definition import Definition, Evidence, Shown, Version, Versions
from generator.components.parts import UNPRIVILEGED, network_policy, pod_security, resources, tolerations
from generator.model.cluster import Cluster
from generator.model.nodes import Pool

# The one with musl is linked statically, and runs in any image.
VERSIONS = Versions(
    "pulled-images", (Version(version="1.37.0", images={"tools": "docker.io/library/busybox:1.37.0-musl"}),)
)

NAMESPACE = "pulled-images"
TOOLS = "/gen-tools"
SMALL = resources("5m", "16Mi", "32Mi")
# Images of CUDA ask for every GPU, and refuse to start beside another driver.
NO_GPU = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]


def pools(cluster: Cluster) -> dict[str, Pool]:
    """Return the pools that name images."""
    return {name: pool for name, pool in cluster.pools.items() if pool.images}


def pulled_images(cluster: Cluster) -> Component:
    """Keep a pod on each node of a pool that has started each of its images once: what it holds, the kubelet does not
    delete when disks fill up (v1.35: `images/image_gc_manager.go`, `imagesInUse` counts containers that have ended).
    Images are anybody's, and their pods need no network: the kubelet pulls.
    """
    version = VERSIONS.of(cluster)
    return Component(
        name="pulled-images",
        tier=DEFINITION.tier,
        summary="Images of pools, pulled before jobs ask for them",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        objects=(
            network_policy("pulled-images", NAMESPACE, {}, egress=[]),
            *(daemon_set(cluster, name, pool, version.images["tools"]) for name, pool in pools(cluster).items()),
        ),
    )


def daemon_set(cluster: Cluster, name: str, pool: Pool, tools: str) -> Manifest:
    """Return what pulls a pool's images: one after the other on each node, a changed list on a quarter of the nodes at
    a time, so that the registry and the network have room for jobs.
    """
    from generator.components.kubeadm.bootstrap_images import sandbox  # noqa: PLC0415 - only a render makes objects

    labels = {"app.kubernetes.io/name": "pulled-images", POOL: name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {POOL: name},
                    "tolerations": tolerations(cluster.in_pools(name)),
                    **pod(pool.images, tools, sandbox(cluster)),
                },
            },
        },
    }


def pod(images: tuple[str, ...], tools: str, pause: str) -> Manifest:
    """Return what a pod runs: each image starts a program that is put into it and ends at once, for the image itself
    may hold none. Then the pod waits.
    """
    mounted = [{"name": "tools", "mountPath": TOOLS}]
    started = [
        {**_container(f"image-{number}", image, [f"{TOOLS}/true"], mounted), "env": NO_GPU}
        for number, image in enumerate(images, 1)
    ]
    copied = ["/bin/busybox", "cp", "/bin/busybox", f"{TOOLS}/true"]
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(65534),
        "initContainers": [_container("tools", tools, copied, mounted), *started],
        "containers": [_container("waits", pause, ["/pause"], [])],
        "volumes": [{"name": "tools", "emptyDir": {"sizeLimit": "8Mi"}}],
        "terminationGracePeriodSeconds": 1,
    }


def _container(name: str, image: str, command: list[str], mounts: list[Manifest]) -> Manifest:
    made = {"name": name, "image": image, "command": command, "resources": SMALL, "securityContext": UNPRIVILEGED}
    return {**made, **({"volumeMounts": mounts} if mounts else {})}


DEFINITION = Definition(
    name="pulled-images",
    tier=Tier.PLATFORM,
    make=pulled_images,
    wanted=pools,
    absence="no pool names images",
    versions=VERSIONS,
    namespaces=(NAMESPACE,),
    shown_by=Evidence(objects=(Shown("apps", "daemonsets", "app.kubernetes.io/name=pulled-images"),)),
    notes="One DaemonSet for each pool with `images`. One that cannot be pulled holds up those after it in the list, "
    "and nothing else; `gen status` names it.",
)
