"""What `gen explain` tells about findings on keys and values that the schema of the cluster file does not allow."""

from generator.model.rule import Explained

UNKNOWN_KEY = Explained(
    code="GEN-SCHEMA-001",
    title="only known keys",
    why="A mistyped key would otherwise be dropped in silence, and the default used instead of what was meant.",
    wrong="kubernetes:\n  podCidr: 10.244.0.0/16\n",
    right="kubernetes:\n  podCIDR: 10.244.0.0/16\n",
)
MISSING_KEY = Explained(
    code="GEN-SCHEMA-002",
    title="keys that must be there",
    why="Without this key the cluster cannot be rendered, and any default would be a guess about your site.",
    wrong="networks:\n  node: {cidr: 10.10.0.0/22}\n",
    right="networks:\n  cni: cilium\n  node: {cidr: 10.10.0.0/22}\n",
)
WRONG_KIND = Explained(
    code="GEN-SCHEMA-003",
    title="values of the right kind",
    why="YAML reads what is not quoted as it likes: 1.30 is the number 1.3. A key without a value is null.",
    wrong="version: 1.30\nteams:\n",
    right='version: "1.30.4"\nteams: []\n',
)
WRONG_CHOICE = Explained(
    code="GEN-SCHEMA-004",
    title="one of the known values",
    why="Only these values mean something here.",
    wrong="cni: flannel\n",
    right="cni: cilium\n",
)
WRONG_FORMAT = Explained(
    code="GEN-SCHEMA-005",
    title="addresses, amounts, taints and ports in their own form",
    why="A network with host bits set, or an amount with a unit that Kubernetes does not know, means different "
    "things to different programs.",
    wrong="podCIDR: 10.244.0.1/16\n",
    right="podCIDR: 10.244.0.0/16\n",
)
WRONG_FORM = Explained(
    code="GEN-SCHEMA-006",
    title="text of the right form",
    why="Names become names of Kubernetes objects, hosts and labels, which allow only some characters.",
    wrong="name: GPU_01\n",
    right="name: gpu-01\n",
)
OUT_OF_LIMITS = Explained(
    code="GEN-SCHEMA-007",
    title="numbers and lengths inside their limits",
    why="Beyond the limit Kubernetes or the component refuses the value, later and less clearly.",
    wrong="maxPods: 9000\n",
    right="maxPods: 250\n",
)
WRONG_MAP_KEY = Explained(
    code="GEN-SCHEMA-008",
    title="keys of maps in their own form",
    why="Keys that you choose (names of pools, priorities, networks of a node) follow the same rules as names.",
    wrong="pools:\n  GPU Training: {}\n",
    right="pools:\n  gpu-training: {}\n",
)
UNREADABLE_VALUE = Explained(
    code="GEN-SCHEMA-009",
    title="values that the types can hold",
    why="The schema found nothing and the value could still not be read; the message has the reader's own words.",
    wrong="(none is known: tell us when you meet one)\n",
    right="mtu: 9000\n",
)
