from msgspec import structs
from reference import without_backups

from generator.checks.versions import COMPONENTS, supported_version
from generator.components import absent, compose
from generator.model.cluster import Cluster, ComponentSettings
from generator.model.monitoring import Monitoring
from generator.model.storage import Storage

# Not among the composed ones: made by layout, and still to come.
APART = {"namespaces"}


def variants(*clusters: Cluster) -> list[Cluster]:
    """Return clusters from which one part after the other is left out."""
    made = list(clusters)
    for cluster in clusters:
        made += [
            structs.replace(cluster, backups=()),
            without_backups(cluster),
            structs.replace(cluster, backups=(), teams=()),
            structs.replace(cluster, backups=(), storage=Storage()),
            structs.replace(cluster, fabric=None),
            structs.replace(cluster, monitoring=Monitoring()),
            structs.replace(cluster, networks=structs.replace(cluster.networks, load_balancer=None)),
            structs.replace(cluster, networks=structs.replace(cluster.networks, cni="calico")),
            structs.replace(cluster, machines=tuple(each for each in cluster.machines if not each.gpus)),
        ]
    return made


def test_a_component_is_either_made_or_known_to_be_absent(ml50: Cluster, a30: Cluster) -> None:
    for cluster in variants(ml50, a30):
        made = {component.name for component in compose(cluster)}
        assert made <= COMPONENTS
        assert made & set(absent(cluster)) == set()
        assert COMPONENTS - made - set(absent(cluster)) <= APART


def test_what_somebody_else_installs_does_not_bind_the_version(a30: Cluster) -> None:
    old = structs.replace(a30, kubernetes=structs.replace(a30.kubernetes, version="1.32.0"))
    (finding,) = supported_version.check(old)
    for name in ("argo-cd", "gpu-operator"):
        assert name in finding.message
    others = {name: ComponentSettings(managed=False) for name in ("argo-cd", "gpu-operator")}
    assert list(supported_version.check(structs.replace(old, components=others))) == []
