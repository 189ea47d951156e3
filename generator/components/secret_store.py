"""Secrets that come from the site's store: an ExternalSecret for each, of external-secrets.io/v1.

`creationPolicy: Orphan`: the Secret stays when the ExternalSecret goes, as after a component was taken out or the site
gave up its store. With a template the labels and annotations of the ExternalSecret itself, Argo CD's among them, are
not copied to the Secret.
"""

from msgspec import structs

from generator.components.common import SYNC_WAVE
from generator.components.component import Component, Manifest, Secret
from generator.components.rule_files import read_rules
from generator.model.change import FieldChange, ObjectChange, value_at
from generator.model.cluster import Cluster
from generator.model.secret_store import SecretStore

GROUP = "external-secrets.io"
"""The API group of what the site's own operator reads."""
FIRST = {SYNC_WAVE: "-1"}
"""Before all else of a component: Argo CD waits until the values are there (its health check of ExternalSecret)."""


def from_store(cluster: Cluster, component: Component) -> Component:
    """Return the component with the Secrets that people would make taken from the site's store, where there is one. The
    pod network and Argo CD start before anything is synced: theirs are made by people always.
    """
    store = cluster.site.secrets
    if not store or component.name in {"argo-cd", cluster.networks.cni}:
        return component
    secrets = tuple(_stored(store, cluster.name, one) for one in component.secrets)
    objects = (_external_secret(store, one) for one in secrets if one.entry)
    return structs.replace(component, secrets=secrets, objects=(*component.objects, *objects))


def _stored(store: SecretStore, cluster: str, secret: Secret) -> Secret:
    """Return a Secret that people make as one of the store; a copy is the entry of what it is a copy of."""
    if secret.source not in {"given", "generated"}:
        return secret
    place = secret.copy_of or f"{secret.namespace}/{secret.name}"
    entry = "/".join(part for part in (store.prefix, cluster, place) if part)
    return structs.replace(secret, source="external", entry=entry, random=secret.source == "generated")


def _external_secret(store: SecretStore, secret: Secret) -> Manifest:
    data = [{"secretKey": key, "remoteRef": {"key": secret.entry, "property": key}} for key in secret.keys]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": secret.name, "namespace": secret.namespace, "annotations": FIRST},
        "spec": {
            "refreshInterval": "1h",
            "secretStoreRef": {"kind": "ClusterSecretStore", "name": store.store},
            "target": {
                "name": secret.name,
                "creationPolicy": "Orphan",
                "deletionPolicy": "Retain",
                "template": {
                    "engineVersion": "v2",
                    **({"metadata": {"labels": secret.labels}} if secret.labels else {}),
                },
            },
            "data": data,
        },
    }


def is_let_go(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether the Secret stays when its ExternalSecret goes."""
    return value_at(change.old, "spec.target.creationPolicy") in {"Orphan", "Merge", "None"}


CHANGES = read_rules("secret_store_changes.yaml", is_let_go)
