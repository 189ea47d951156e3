"""Rules about what tries pools."""

from collections.abc import Iterator

from generator.components.acceptance.pools import tried
from generator.model.cluster import Cluster
from generator.model.finding import Finding
from generator.model.rule import rule


@rule("GEN-ACC-001", "acceptance of pools that a queue leads to")
def something_to_try(cluster: Cluster) -> Iterator[Finding]:
    """What tries a pool waits in the queue like any job, and takes whole GPUs. It can try no pool on which no team has
    a quota, and none whose GPUs are split or shared. Where nothing is left, there is nothing to install.

    Wrong:
        acceptance: {image: "registry.example.org/platform/acceptance:2026.11"}
        # and no teams
    Right:
        acceptance: {image: "registry.example.org/platform/acceptance:2026.11"}
        teams:
          - {name: vision, quotas: {gpu: {gpus: 8}}}
    """
    if cluster.acceptance and not tried(cluster):
        message = "no pool can be tried: none has whole GPUs and a quota of a team"
        yield Finding(at=("acceptance",), key=True, message=message, fix="give a team a quota on one, or remove it")
