"""Envoy Gateway: it serves the Gateway of teams where the network does not, with Envoys of its own."""

import json
from collections.abc import Iterator

from generator.components.common import replicas
from generator.components.component import Component, Manifest, Namespace, Secret
from generator.components.envoy_gateway import DEFINITION, HMAC
from generator.components.envoy_gateway.layout import GROUP, LABELS, NAME, NAMESPACE, VERSIONS, XDS
from generator.components.envoy_gateway.network import policies
from generator.components.envoy_gateway.rights import rights, watched
from generator.components.issuers import authority, signed
from generator.components.parts import UNPRIVILEGED, apart, pod_security, resources, tolerations
from generator.components.static import read_objects
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror

HEALTH = 8081


def install(cluster: Cluster) -> Component:
    """Install it on clusters whose network serves no Gateways."""
    version = VERSIONS.of(cluster)
    return Component(
        name=NAME,
        tier=DEFINITION.tier,
        summary="The Gateway of teams, by Envoys",
        version=version.version,
        namespaces=(Namespace(NAMESPACE),),
        manifests=version.manifests,
        base=(*read_objects("envoy_gateway/base.yaml"), *rights()),
        objects=(
            *policies(cluster),
            settings(cluster, version.images["gateway"]),
            deployment(cluster, version.images["gateway"]),
        ),
        # It is not ready before it may read all namespaces that it watches, and teams' rights come with them.
        needs=("cert-manager", "tenants"),
        secrets=tuple(secrets()),
        kinds=DEFINITION.chart_kinds,
    )


def settings(cluster: Cluster, image: str) -> Manifest:
    """Return its settings: it reads the namespaces of teams with hosts alone. They name the image that ends Envoys
    gently, which no other object does; when they change it reads them again.
    """
    kubernetes = {
        "watch": {"type": "Namespaces", "namespaces": [NAMESPACE, *watched(cluster)]},
        "shutdownManager": {"image": at_mirror(image, cluster.site.images)},
        "proxyTopologyInjector": {"disabled": True},
    }
    told = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "EnvoyGateway",
        "gateway": {"controllerName": f"{GROUP}/gatewayclass-controller"},
        "provider": {"type": "Kubernetes", "kubernetes": kubernetes},
    }
    data = {"envoy-gateway.yaml": json.dumps(told, indent=1)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(), "data": data}


def deployment(cluster: Cluster, image: str) -> Manifest:
    """Return the Deployment. Each of its pods tells Envoys what they are to do; one of them acts."""
    pod: Manifest = {
        "serviceAccountName": NAME,
        "priorityClassName": "system-cluster-critical",
        "securityContext": pod_security(65532),
        "tolerations": tolerations(cluster.control_plane),
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "affinity": apart(LABELS),
        "containers": [container(image)],
        "volumes": [
            {"name": "settings", "configMap": {"name": NAME}},
            {"name": "certificates", "secret": {"secretName": NAME}},
            {"name": "modules", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }
    template = {"metadata": {"labels": LABELS}, "spec": pod}
    spec = {"replicas": replicas(cluster), "selector": {"matchLabels": LABELS}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(), "spec": spec}


def container(image: str) -> Manifest:
    """Return the container."""
    mounts = {"settings": "/config", "certificates": "/certs", "modules": "/var/lib/eg/wasm"}
    return {
        "name": NAME,
        "image": image,
        "args": ["server", "--config-path=/config/envoy-gateway.yaml"],
        "env": [
            {"name": "ENVOY_GATEWAY_NAMESPACE", "value": NAMESPACE},
            {"name": "KUBERNETES_CLUSTER_DOMAIN", "value": "cluster.local"},
        ],
        "ports": [
            {"name": "grpc", "containerPort": XDS, "protocol": "TCP"},
            {"name": "health", "containerPort": HEALTH, "protocol": "TCP"},
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "health"}, "periodSeconds": 20},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "health"}},
        "resources": resources("100m", "256Mi", "1Gi"),
        "securityContext": UNPRIVILEGED,
        "volumeMounts": [
            {"name": name, "mountPath": path, **({} if name == "modules" else {"readOnly": True})}
            for name, path in mounts.items()
        ],
    }


def metadata() -> Manifest:
    """Return the metadata of its own objects."""
    return {"name": NAME, "namespace": NAMESPACE}


def secrets() -> Iterator[Secret]:
    """Declare the certificates by which it and its Envoys know each other, and a key that it asks for whether or not
    somebody uses what it signs (SecurityPolicies, of which there is no definition).
    """
    yield authority(f"{NAME}-ca", NAMESPACE, NAME, signs=(NAME, "envoy"))
    yield signed(NAME, NAMESPACE, NAME)
    yield signed("envoy", NAMESPACE, "Envoys")
    yield Secret(
        name=HMAC,
        namespace=NAMESPACE,
        keys=("hmac-secret",),
        source="generated",
        loss="harmless",
        rotate="delete it and run `gen bootstrap`",
        readers=(NAME,),
    )
