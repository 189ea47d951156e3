"""What the accounts of operations may make, by rules of the API server: the Jobs of their steps, and notes.

Whoever may create a Job in Rook's namespace, whose pods may be privileged, is root on every node; whoever may
in MinIO's has the keys of its root user. No Role can say which Job it is. Each rule holds for these accounts alone: it
can stop operations, and nothing else.
"""

from collections.abc import Iterator

from generator.components.common import SYNC_WAVE
from generator.components.component import Manifest
from generator.components.minio.layout import NAMESPACE as MINIO
from generator.components.minio.settings import pod as setup_pod
from generator.components.node_operations.names import (
    DRIVE_REPLACEMENT,
    DRIVER_UPGRADE,
    EXPANSION,
    MAINTENANCE,
    MINIO_EXPANSION,
    NAMESPACE,
    OSD_REPLACEMENT,
    REMOVAL,
    REPLACEMENT,
    UPGRADE,
    labels,
)
from generator.components.node_operations.shapes import Cel, literal, of_job, of_pod, of_repository, of_volume, only
from generator.components.node_operations.templates import (
    ask_ceph_job,
    ask_minio_job,
    burn_in_job,
    burn_in_nccl_job,
)
from generator.components.python_steps import IMAGE
from generator.components.rook_ceph import NAMESPACE as ROOK
from generator.components.rook_ceph import VERSIONS as ROOK_VERSIONS
from generator.components.tenants.policy import GROUP, policy, resources
from generator.model.cluster import Cluster
from generator.model.mirror import at_mirror

ACCOUNTS = f"system:serviceaccount:{NAMESPACE}:"
ASKING = {
    ROOK: (REMOVAL, REPLACEMENT, OSD_REPLACEMENT),
    MINIO: (REPLACEMENT, DRIVE_REPLACEMENT, MINIO_EXPANSION, UPGRADE, MAINTENANCE),
}
"""Which operations change something of a storage system, and ask it."""
JOBS = {NAMESPACE: (EXPANSION, REPLACEMENT, DRIVER_UPGRADE), **ASKING}
"""Which operations make Jobs in which namespace."""
NAMED = {NAMESPACE: "burn-in-", ROOK: "ask-ceph-", MINIO: "ask-minio-"}
"""How the names of these Jobs begin; a node's follows."""
NOTES = {
    REMOVAL: "^(begun|osds)$",
    REPLACEMENT: "^(begun|uid|osds|machine)$",
    OSD_REPLACEMENT: "^(begun|osd-([0-9]+|all))$",
    DRIVE_REPLACEMENT: "^(begun|drive|server|healing)$",
    MINIO_EXPANSION: "^(begun|servers)$",
}
"""What the notes of an operation say."""
LONGEST = 46
"""How many letters of a node's name the names of its Jobs bear (`naming.py`)."""
QUESTIONS = (
    "room( [0-9]+)+|ceph osd (find|metadata) [0-9]+ --format json|ceph osd safe-to-destroy( [0-9]+)+ --format json"
    "|ceph osd out( [0-9]+)+|ceph osd down [0-9]+|ceph osd purge osd\\.[0-9]+"
)
"""What Ceph is asked."""
_JOBS = "request.resource.group == 'batch' && request.resource.resource == 'jobs'"
_MAPS = "request.resource.group == '' && request.resource.resource == 'configmaps'"
_POD = "object.spec.template.spec"
_MAIN = f"{_POD}.containers[0]"
_LIMITS = f"dyn({_MAIN}.resources.limits).all(key, key.contains('/') || key == 'memory')"
_DISK = "{}.name.matches('^disk-[0-9]+$')"
_RUN = "is refused: gen renders which Jobs an operation makes, and this is none of them"

_OSDS = (
    f"request.operation == 'DELETE' && request.?namespace.orValue('') == '{ROOK}'"
    f" && request.resource.resource == 'deployments' && variables.account in {literal(ASKING[ROOK])}"
    " && oldObject.metadata.?labels.?app.orValue('') == 'rook-ceph-osd'"
)
"""Who may delete the Deployment of an OSD."""
_SERVERS = (
    f"request.operation == 'DELETE' && request.?namespace.orValue('') == '{MINIO}'"
    f" && request.resource.resource == 'pods' && variables.account == '{MINIO_EXPANSION}'"
    " && oldObject.metadata.?labels[?'app.kubernetes.io/name'].orValue('') == 'minio'"
)
"""Who may delete a server of MinIO, which comes again."""


def policies(cluster: Cluster) -> Iterator[Manifest]:
    """Yield every rule, and what binds it. They come before the rights that they bound."""
    made = [everything(), burn_in(cluster)]
    if cluster.acceptance:
        made.append(burn_in_nccl(cluster.acceptance.image))
    if cluster.storage.ceph:
        made.append(ask_ceph(cluster))
    if cluster.storage.objects:
        made.append(ask_minio(cluster))
    for one in made:
        name = one["metadata"]["name"]
        metadata = {"name": name, "labels": labels(NAMESPACE), "annotations": {SYNC_WAVE: "-1"}}
        spec = {"policyName": name, "validationActions": ["Deny"]}
        yield {**one, "metadata": metadata}
        kind = "ValidatingAdmissionPolicyBinding"
        yield {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "spec": spec}


def everything() -> Manifest:
    """Let accounts make, change and delete no more than their operation does: no other Job, no pod, no rights."""
    makers = ["pods", "pods/ephemeralcontainers", "replicationcontrollers", "podtemplates", "serviceaccounts"]
    core = [*makers, "serviceaccounts/token", "secrets", "configmaps"]
    groups = ("batch", "apps", "rbac.authorization.k8s.io", GROUP)
    workflows = ["workflows", "workflows/*", "cronworkflows", "workflowtemplates", "clusterworkflowtemplates"]
    return policy(
        "gen-operations",
        [
            resources("", core, "CREATE", "UPDATE", "DELETE"),
            *(resources(group, ["*/*"], "CREATE", "UPDATE", "DELETE") for group in groups),
            resources("argoproj.io", workflows, "CREATE", "UPDATE", "DELETE"),
            resources("", ["pods/exec", "pods/attach", "pods/portforward", "pods/proxy"], "CONNECT"),
        ],
        validations={
            "variables.job ? variables.makes && (request.operation == 'DELETE'"
            " || request.operation == 'CREATE' && !has(object.metadata.generateName)) : variables.note"
            f" || {_OSDS} || {_SERVERS}":
            "an account of an operation makes and deletes the Jobs and notes of its steps, and nothing else",
            f"request.operation == 'DELETE' || {only('object.metadata', _METADATA)}":
            "what an operation makes has no annotations, owners or finalizers",
        },
        variables={
            **_account(),
            "job": f"{_JOBS} && request.?subResource.orValue('') == ''",
            "one": "request.operation == 'DELETE' ? oldObject : object",
            "makes": f"variables.account in {literal(JOBS)}[?request.?namespace.orValue('')].orValue([])"
            f" && variables.one.metadata.name.startsWith({literal(NAMED)}[request.namespace])",
            "note": f"{_MAPS} && request.?namespace.orValue('') == '{NAMESPACE}'"
            f" && variables.account in {literal(NOTES)}"
            " && variables.one.metadata.name.startsWith(variables.account + '-') && (request.operation == 'DELETE'"
            f" || {only('object', ('apiVersion', 'kind', 'metadata', 'data'))}"
            f" && object.metadata.labels == {{'app.kubernetes.io/part-of': '{NAMESPACE}'}}"
            f" && object.data.all(key, key.matches({literal(NOTES)}[variables.account])))",
        },
        conditions=_by_operations(),
    )  # fmt: skip


_METADATA = (
    "name", "namespace", "labels", "uid", "creationTimestamp", "generation", "resourceVersion", "managedFields",
)  # fmt: skip
"""Of these the API server says all but the first three."""


def burn_in(cluster: Cluster) -> Manifest:
    """Hold the Job that tries a node's devices to what is rendered; it names the node, its devices and its disks."""
    job = burn_in_job()
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    (scripts,), (mount,) = spec["volumes"], container["volumeMounts"]
    environment = [{"name": "EXPECTED", "value": Cel(f"{_MAIN}.env[0].value")}]
    limits, memory = Cel(f"{_MAIN}.resources.limits"), Cel(f"{_MAIN}.resources.limits.memory")
    filled = {
        "image": Cel(f"{_MAIN}.image"),
        "env": environment,
        "resources": {"requests": {**container["resources"]["requests"], "memory": memory}, "limits": limits},
        "volumeMounts": Cel(f"{_MAIN}.volumeMounts"),
    }
    name = f"{_POD}.nodeSelector['kubernetes.io/hostname']"
    node = {"kubernetes.io/hostname": Cel(name)}
    pod = {**spec, "nodeSelector": node, "containers": [{**container, **filled}], "volumes": Cel(f"{_POD}.volumes")}
    place = {"name": Cel("m.name"), "mountPath": Cel("'/disks/' + m.name.substring(5)")}
    rules = [
        of_repository(f"{_MAIN}.image", at_mirror(IMAGE, cluster.site.images)),
        _LIMITS,
        _named("'burn-in-'", name),
        f"{memory}.matches('^[0-9]+Gi$')",
        f"{_POD}.volumes.all(v, v == {literal(of_volume(scripts))} || {_disk(cluster)})",
        f"{_MAIN}.volumeMounts.all(m, m == {literal(mount)} || {_DISK.format('m')} && m == {literal(place)})",
    ]
    # Who says by its label that it tries GPUs together is held to that, where that is rendered.
    alone = f"object.metadata.?labels.orValue({{}}) != {literal(burn_in_nccl_job()['metadata']['labels'])}"
    return _shape("gen-burn-in", NAMESPACE, job, pod, rules, **({"alone": alone} if cluster.acceptance else {}))


def burn_in_nccl(image: str) -> Manifest:
    """Hold the Job that tries GPUs together to what is rendered; it names one node or two, and their devices."""
    job = burn_in_nccl_job()
    spec = job["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    required = Cel(f"{_POD}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution")
    names = Cel(f"{required}.nodeSelectorTerms[0].matchExpressions[0].values")
    one = {"key": "kubernetes.io/hostname", "operator": "In", "values": names}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [one]}]}
    filled = {
        "image": Cel(f"{_MAIN}.image"),
        "env": [{"name": "EXPECTED", "value": Cel(f"{_MAIN}.env[0].value")}],
        "resources": {**container["resources"], "limits": Cel(f"{_MAIN}.resources.limits")},
    }
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = {**spec, "affinity": affinity, "containers": [{**container, **filled}]}
    pod["volumes"] = [of_volume(each) for each in spec["volumes"]]
    count = Cel(f"size({names})")
    of_any = {**job, "spec": {**job["spec"], "parallelism": count, "completions": count}}
    rules = [
        of_repository(f"{_MAIN}.image", image),
        _LIMITS,
        f"{_MAIN}.resources.limits.memory == {literal(container['resources']['limits']['memory'])}",
        f"{count} in [1, 2]",
        _named(f"'burn-in-nccl-' + string({count}) + '-'", f"{names}[0]"),
    ]
    tried = f"object.metadata.?labels.orValue({{}}) == {literal(job['metadata']['labels'])}"
    return _shape("gen-burn-in-nccl", NAMESPACE, of_any, pod, rules, together=tried)


def _named(prefix: str, node: str) -> str:
    """Return that a Job is named for its node: by a digest where a label would not bear the name (`short_name`)."""
    whole, name = f"{prefix} + {node}", "object.metadata.name"
    short = f"({node}.contains('.') || size({node}) > {LONGEST})"
    return f"{name} == {whole} || {short} && {name}.startsWith({prefix}) && {name}.matches('-[0-9a-f]{{8}}$')"


def _disk(cluster: Cluster) -> str:
    """Return that a volume is a scratch disk."""
    scratch = cluster.storage.scratch
    if scratch is None:
        return "false"
    asked = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": scratch.storage_class,
        "volumeMode": "Filesystem",
    }
    metadata = "v.ephemeral.volumeClaimTemplate.metadata"
    claim = {"metadata": Cel(metadata), "spec": asked}
    volume = {"name": Cel("v.name"), "ephemeral": {"volumeClaimTemplate": claim}}
    return f"{_DISK.format('v')} && {only(metadata, ('creationTimestamp',))} && v == {literal(volume)}"


def ask_ceph(cluster: Cluster) -> Manifest:
    """Hold the Job that asks Ceph to what is rendered, and to the questions that the steps ask."""
    job = ask_ceph_job()
    spec = job["spec"]["template"]["spec"]
    (first,), (main,) = spec["initContainers"], spec["containers"]
    # Both are of the image of Rook's operator.
    image, words = Cel(f"{_MAIN}.image"), Cel(f"{_MAIN}.args")
    pod = {
        **spec,
        "initContainers": [{**first, "image": image}],
        "containers": [{**main, "image": image, "args": words}],
    }
    operator = ROOK_VERSIONS.of(cluster).images["operator"]
    rules = [
        of_repository(image, at_mirror(operator, cluster.site.images)),
        f"{words}.join(' ').matches({literal(f'^({QUESTIONS})$')})",
    ]
    return _shape("gen-ask-ceph", ROOK, job, pod, rules)


def ask_minio(cluster: Cluster) -> Manifest:
    """Hold the Job that asks MinIO to what is rendered. Which users' keys its setup is given changes with the file; the
    script reads none of them but the root user's.
    """
    assert cluster.storage.objects
    job, spec = ask_minio_job(), setup_pod(cluster, cluster.storage.objects)
    (setup,), (asking,) = spec["containers"], job["spec"]["template"]["spec"]["containers"]
    main = setup | asking
    image, words = Cel(f"{_MAIN}.image"), Cel(f"{_MAIN}.args")
    sources = "v.projected.sources"
    keys = {"name": "secrets", "projected": {"sources": Cel(sources)}}
    secret = f"v == {literal(of_volume(keys))} && {sources}.all(one, {only('one', ('secret',))})"
    others = [of_volume(one) for one in spec["volumes"] if one["name"] != "secrets"]
    pod = {**spec, "containers": [{**main, "image": image, "args": words}], "volumes": Cel(f"{_POD}.volumes")}
    rules = [
        of_repository(image, at_mirror(main["image"], cluster.site.images)),
        f"{words}.join(' ').matches('^(drives( [a-z0-9-]+ [0-9]+)?|sample [0-9]+)$')",
        f"{_POD}.volumes.all(v, v in {literal(others)} || v.name == 'secrets' && {secret})",
    ]
    return _shape("gen-ask-minio", MINIO, job, pod, rules)


def _shape(name: str, space: str, job: Manifest, pod: Manifest, rules: list[str], **only_for: str) -> Manifest:
    """Return the rule for new Jobs of one shape: of all in a namespace, but for what `only_for` says."""
    told = f"Job {_RUN}"
    whole = [f"dyn({_POD}) == {literal(of_pod(pod))}"]
    return policy(
        name,
        [resources("batch", ["jobs"], "CREATE")],
        validations=dict.fromkeys((*of_job(job), *whole, *rules), told),
        conditions={**_by_operations(), "here": f"request.namespace == '{space}'", **only_for},
    )


def _account() -> dict[str, str]:
    return {"account": f"request.userInfo.username.substring({len(ACCOUNTS)})"}


def _by_operations() -> dict[str, str]:
    return {"by-operations": f"request.userInfo.username.startsWith('{ACCOUNTS}')"}
