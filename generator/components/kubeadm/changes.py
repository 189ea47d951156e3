"""What changes of kubeadm's files mean: kubeadm read them once, and nothing reads them again by itself.

How each is brought to a running cluster is written in Kubernetes' page on reconfiguring (`PAGE`).
"""

from generator.components.rule_files import read_rules
from generator.model.change import ABSENT, FieldChange, ObjectChange

KUBELET = "kubelet.config.k8s.io/KubeletConfiguration"


def slice_of_nodes(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the size of each node's slice of the pod network changes."""
    return "node-cidr-mask-size" in str(field.path)


def stops_decrypting(_change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the API server loses what it reads encrypted Secrets with."""
    return "[encryption-provider-config]" in field.path and field.new is ABSENT


def starts_encrypting(change: ObjectChange, field: FieldChange) -> bool:
    """Tell whether the API servers of a cluster that runs get what they encrypt Secrets with."""
    return bool(change.old) and "[encryption-provider-config]" in field.path and field.old is ABSENT


def stood_before(change: ObjectChange, _field: FieldChange) -> bool:
    """Tell whether there was such a document before."""
    return bool(change.old)


RULES = read_rules("kubeadm/changes.yaml", slice_of_nodes, stops_decrypting, starts_encrypting, stood_before)
