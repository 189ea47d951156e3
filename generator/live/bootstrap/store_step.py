"""The site's store of Secrets: whether the cluster has what reads it."""

from generator.components.secret_store import GROUP
from generator.live.bootstrap.step import Item, State, Step
from generator.live.running import RunningCluster
from generator.model.cluster import Cluster
from generator.model.fields import condition
from generator.model.secret_store import SecretStore

PLACE = f"/apis/{GROUP}/v1/clustersecretstores"


def store_step(running: RunningCluster, cluster: Cluster, store: SecretStore) -> Step:
    """Look whether the ClusterSecretStore is there and valid. It is the site's own, needs the pod network, and so comes
    between that and Argo CD: nothing here is made, and nothing waits for it.
    """
    item = _item(store, running.get(f"{PLACE}/{store.store}"), f"clusters/{cluster.name}/bootstrap/README.md")
    return Step(name="store", items=(item,))


def _item(store: SecretStore, there: object, page: str) -> Item:
    name, waits = f"ClusterSecretStore {store.store}", "Argo CD stops before what reads a Secret of it"
    if there is None:
        how = f"install External Secrets and the store once the network is there ({page})"
        return Item(State.LATER, f"{name} is not there, and {waits}: {how}")
    ready = condition(there, "Ready")
    if not ready:
        return Item(State.LATER, f"{name}: External Secrets has not looked at it, and {waits}: see whether it runs")
    if ready.get("status") != "True":
        return Item(State.LATER, f"{name} is not ready, and {waits}: {ready.get('message') or ready.get('reason')}")
    return Item(State.DONE, f"{name} is there and ready")
