"""Hubble, which tells what goes through Cilium, and its certificates."""

from generator.components.cilium import NAMESPACE
from generator.components.component import Manifest, Secret, Turn
from generator.components.parts import resources

JOB = "hubble-generate-certs"


def hubble() -> Manifest:
    """Certificates are made in the cluster by a CronJob: the chart's default writes private keys into its
    output, new ones each time, and cert-manager is not there yet when the network comes up. The first ones are made by
    a Job. Up to 1.18 that was a Helm hook, which is left out; since 1.19 it is an object like any other, named by a
    checksum of its content, and stays when it is done: Argo CD never misses it, nor tries to change it.
    """
    return {
        "enabled": True,
        "tls": {"enabled": True, "auto": {"enabled": True, "method": "cronJob", "certValidityDuration": 1095}},
        "relay": {"enabled": True, "rollOutPods": True, "resources": resources("10m", "64Mi", "512Mi")},
        "ui": {"enabled": False},
    }


def certificates() -> tuple[Secret, ...]:
    """Declare what Hubble's CronJob makes: all certificates each time it runs, of the CA that is there, else of another
    one (certgen, cmd/certgen.go). Agents and relay read their files again by themselves.
    """
    signed = ("hubble-server-certs", "hubble-relay-client-certs")
    still = "Hubble's view of the traffic, until every node has its new certificate,"
    return tuple(
        Secret(
            name=name,
            namespace=NAMESPACE,
            keys=keys,
            source="in-cluster",
            by="cilium",
            loss="harmless",
            rotate=f"delete it and run `kubectl -n {NAMESPACE} create job --from=cronjob/{JOB} now`",
            readers=readers,
            turn=Turn(way="delete", job=JOB, signs=signed if name == "cilium-ca" else (), still=still),
        )
        for name, keys, readers in (
            ("cilium-ca", ("ca.crt", "ca.key"), (JOB,)),
            ("hubble-server-certs", ("ca.crt", "tls.crt", "tls.key"), ("cilium",)),
            ("hubble-relay-client-certs", ("ca.crt", "tls.crt", "tls.key"), ("hubble-relay",)),
        )
    )
