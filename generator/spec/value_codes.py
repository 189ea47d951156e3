"""What `gen explain` tells about findings on keys and values that the schema of the cluster file does not allow."""

from generator.model.rule import Explained

UNKNOWN_KEY = Explained(
    code="GEN-SCHEMA-001",
    title="only known keys",
    text="""
    A mistyped key would otherwise be dropped in silence, and the default used instead of what was meant.

    Wrong:
        kubernetes:
          podCidr: 10.244.0.0/16
    Right:
        kubernetes:
          podCIDR: 10.244.0.0/16
    """,
)
MISSING_KEY = Explained(
    code="GEN-SCHEMA-002",
    title="keys that must be there",
    text="""
    Without this key the cluster cannot be rendered, and any default would be a guess about your site.

    Wrong:
        networks:
          node: {cidr: 10.10.0.0/22}
    Right:
        networks:
          cni: cilium
          node: {cidr: 10.10.0.0/22}
    """,
)
WRONG_KIND = Explained(
    code="GEN-SCHEMA-003",
    title="values of the right kind",
    text="""
    YAML reads what is not quoted as it likes: 1.30 is the number 1.3. A key without a value is null.

    Wrong:
        version: 1.30
        teams:
    Right:
        version: "1.30.4"
        teams: []
    """,
)
WRONG_CHOICE = Explained(
    code="GEN-SCHEMA-004",
    title="one of the known values",
    text="""
    Only these values mean something here.

    Wrong:
        cni: flannel
    Right:
        cni: cilium
    """,
)
WRONG_FORMAT = Explained(
    code="GEN-SCHEMA-005",
    title="addresses, amounts, taints and ports in their own form",
    text="""
    A network with host bits set, or an amount with a unit that Kubernetes does not know, means different things to
    different programs.

    Wrong:
        podCIDR: 10.244.0.1/16
    Right:
        podCIDR: 10.244.0.0/16
    """,
)
WRONG_FORM = Explained(
    code="GEN-SCHEMA-006",
    title="text of the right form",
    text="""
    Names become names of Kubernetes objects, hosts and labels, which allow only some characters.

    Wrong:
        name: GPU_01
    Right:
        name: gpu-01
    """,
)
OUT_OF_LIMITS = Explained(
    code="GEN-SCHEMA-007",
    title="numbers and lengths inside their limits",
    text="""
    Beyond the limit Kubernetes or the component refuses the value, later and less clearly.

    Wrong:
        maxPods: 9000
    Right:
        maxPods: 250
    """,
)
WRONG_MAP_KEY = Explained(
    code="GEN-SCHEMA-008",
    title="keys of maps in their own form",
    text="""
    Keys that you choose (names of pools, priorities, networks of a node) follow the same rules as names.

    Wrong:
        pools:
          GPU Training: {}
    Right:
        pools:
          gpu-training: {}
    """,
)
UNREADABLE_VALUE = Explained(
    code="GEN-SCHEMA-009",
    title="values that the types can hold",
    text="""
    The schema found nothing and the value could still not be read; the message has the reader's own words.

    Wrong:
        (none is known: tell us when you meet one)
    Right:
        mtu: 9000
    """,
)
