"""The way from outside to services of teams: one Gateway, with a listener and a certificate for each of their hosts."""

from generator.components.component import Component, Tier
from generator.components.definition import Definition, Evidence, Shown
from generator.components.exposure.kinds import KINDS
from generator.components.exposure.layout import GROUP, NAMESPACE
from generator.model.change import ChangeRule
from generator.model.cluster import Cluster


def exposure(cluster: Cluster) -> Component:
    """Let teams be reached by the hosts that are theirs."""
    from generator.components.exposure.install import install  # noqa: PLC0415 - only a render makes it

    return install(cluster)


def change_rules() -> tuple[ChangeRule, ...]:
    """Return what changes of its objects, and of teams' routes, mean."""
    from generator.components.exposure.changes import CHANGES  # noqa: PLC0415 - for those who compare

    return CHANGES


DEFINITION = Definition(
    name="exposure",
    tier=Tier.TENANTS,
    make=exposure,
    wanted=lambda cluster: cluster.networks.exposure and cluster.teams,
    absence="there is no networks.exposure, or no team",
    namespaces=(NAMESPACE,),
    own_kinds=(
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
    ),
    kinds=KINDS,
    changes=change_rules,
    shown_by=Evidence(objects=(Shown(GROUP, "gateways"),)),
    notes="A Gateway that Cilium serves, or Envoy Gateway where the network is Calico, with a listener and a "
    "certificate of the site's issuer for each host of a team. Teams make HTTPRoutes and GRPCRoutes; a listener takes "
    "those of its own team alone.",
)
