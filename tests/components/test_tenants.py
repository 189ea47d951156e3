"""A team's namespace holds its queue, rights, limits and network, and no more."""

import json
import re
from ipaddress import IPv6Network, ip_network
from typing import Any

import pytest
from msgspec import structs

from generator.components import JOBS, compose
from generator.components.ceph_cluster import ceph_cluster
from generator.components.component import Component, Manifest
from generator.components.kueue import TEAM
from generator.components.queues import BATCH, queues
from generator.components.tenants import DEFINITION as TENANTS
from generator.components.tenants import tenants
from generator.components.tenants.install import quota
from generator.components.tenants.pods import ALLOWED
from generator.model.cluster import Cluster
from generator.model.quantity import Quantity
from generator.model.storage import Elsewhere, Export, Nfs, Storage
from generator.model.teams import Member, Scheduling, Team, TeamBucket


def made(cluster: Cluster) -> Component:
    return tenants(cluster, JOBS)


def of_team(cluster: Cluster, team: str, kind: str) -> dict[str, Manifest]:
    return {
        item["metadata"]["name"]: item
        for item in made(cluster).objects
        if item["metadata"].get("namespace") == team and item["kind"] == kind
    }


def role(cluster: Cluster, name: str) -> Manifest:
    return next(
        item for item in made(cluster).base if item["kind"] == "ClusterRole" and item["metadata"]["name"] == name
    )


def may(role: Manifest, group: str, resource: str) -> set[str]:
    return {
        verb
        for rule in role["rules"]
        if group in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }


CHANGING = {"create", "delete", "deletecollection", "patch", "update"}


@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_every_queue_leads_to_one_that_exists(name: str, request: pytest.FixtureRequest) -> None:
    cluster: Cluster = request.getfixturevalue(name)
    component = queues(cluster)
    known = {item["metadata"]["name"] for item in component.objects if item["kind"] == "ClusterQueue"}
    for team in cluster.teams:
        assert of_team(cluster, team.name, "LocalQueue")["default"]["spec"]["clusterQueue"] in known


def test_namespaces_carry_the_team_and_its_pod_security(ml50: Cluster) -> None:
    teams = (structs.replace(ml50.teams[0], security="restricted"), *ml50.teams[1:])
    namespaces = {one.name: one for one in made(structs.replace(ml50, teams=teams)).namespaces}
    assert namespaces["vision"].security == "restricted"
    assert namespaces["language"].security == "baseline"
    assert all(one.labels[TEAM] == name for name, one in namespaces.items())


def test_a_namespace_says_which_classes_the_team_may_use(ml50: Cluster) -> None:
    assert classes(ml50, None) == {"low", "normal"}
    assert classes(ml50, ("urgent",)) == {"urgent"}
    assert classes(ml50, ()) == set()
    for priorities, allowed in (({"only": 5}, {"only"}), ({"one": 5, "same": 5}, {"one", "same"}), ({}, set())):
        changed = structs.replace(ml50, scheduling=Scheduling(priorities=priorities))
        assert classes(changed, None) == allowed


def classes(cluster: Cluster, given: tuple[str, ...] | None) -> set[str]:
    """The classes that labels of the namespace allow to a team."""
    teams = (structs.replace(cluster.teams[0], priorities=given),)
    (namespace,) = made(structs.replace(cluster, teams=teams)).namespaces
    return {key.removeprefix(ALLOWED) for key in namespace.labels if key.startswith(ALLOWED)}


def test_quotas_of_objects_are_never_tighter_than_kueue(ml50: Cluster) -> None:
    hard = of_team(ml50, "vision", "ResourceQuota")["team"]["spec"]["hard"]
    assert not any(name.startswith("requests.") and name != "requests.storage" for name in hard)
    counted = {"pods", "count/pods", "cpu", "memory"}
    counted |= {f"{kind}.{name}" for kind in ("requests", "limits") for name in ("cpu", "memory", "nvidia.com/gpu")}
    assert not counted & set(hard)


def test_nobody_outside_reaches_a_teams_services(ml50: Cluster) -> None:
    for team in ml50.teams:
        hard = of_team(ml50, team.name, "ResourceQuota")["team"]["spec"]["hard"]
        assert (hard["services.nodeports"], hard["services.loadbalancers"]) == ("0", "0")


def test_no_quota_of_storage_where_the_file_gives_none(a30: Cluster) -> None:
    (team,) = a30.teams
    free = structs.replace(a30, teams=(structs.replace(team, storage=None),))
    assert "requests.storage" in of_team(a30, "mlperf", "ResourceQuota")["team"]["spec"]["hard"]
    assert "requests.storage" not in of_team(free, "mlperf", "ResourceQuota")["team"]["spec"]["hard"]


def test_nothing_is_requested_in_the_name_of_containers(ml50: Cluster) -> None:
    """Kueue v0.18.3 counts a LimitRange's `defaultRequest` even where the API server takes the container's limit."""
    assert not of_team(ml50, "vision", "LimitRange")


def test_members_may_not_touch_what_decides_over_quotas(ml50: Cluster) -> None:
    member = role(ml50, "gen:team-member")
    for group, resource in (
        ("", "namespaces"),
        ("", "resourcequotas"),
        ("kueue.x-k8s.io", "localqueues"),
        ("kueue.x-k8s.io", "clusterqueues"),
        ("kueue.x-k8s.io", "workloads"),
        ("scheduling.volcano.sh", "podgroups"),
        ("batch.volcano.sh", "jobs"),
        ("networking.k8s.io", "networkpolicies"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("apps", "daemonsets"),
        ("apps", "replicasets"),
    ):
        assert not may(member, group, resource) & CHANGING, resource
    # Whoever may change a pod can take Kueue's gate off it.
    assert may(member, "", "pods") & {"patch", "update"} == set()


def test_no_role_holds_everything(ml50: Cluster) -> None:
    for item in made(ml50).base:
        for rule in item.get("rules", []):
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"])


def test_viewers_read_and_see_no_secrets(ml50: Cluster) -> None:
    viewer = role(ml50, "gen:team-viewer")
    assert {verb for rule in viewer["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert may(viewer, "", "pods/log")
    assert not may(viewer, "", "secrets")
    assert not may(viewer, "", "configmaps")


def test_people_are_bound_in_their_own_namespace(ml50: Cluster) -> None:
    bound = of_team(ml50, "serving", "RoleBinding")
    names = {name: [who["name"] for who in item["subjects"]] for name, item in bound.items()}
    assert names == {"members": ["oidc:serving"], "queue-users": ["oidc:serving"], "viewers": ["oidc:sre"]}
    assert bound["queue-users"]["roleRef"]["name"] == "kueue-batch-user-role"


def test_groups_and_users_are_told_apart(a30: Cluster) -> None:
    members = (Member(group="lab"), Member(user="eve", group="guests"), Member())
    changed = structs.replace(a30, teams=(Team(name="mlperf", members=members),))
    subjects = of_team(changed, "mlperf", "RoleBinding")["members"]["subjects"]
    named = [(who["kind"], who["name"]) for who in subjects]
    assert named == [("Group", "oidc:lab"), ("Group", "oidc:guests"), ("User", "oidc:eve")]


def test_a_team_without_people_has_no_empty_bindings(a30: Cluster) -> None:
    changed = structs.replace(a30, teams=(Team(name="mlperf"),))
    assert of_team(changed, "mlperf", "RoleBinding") == {}
    assert not any(item["kind"] == "ClusterRoleBinding" for item in made(changed).objects)


def test_everybody_reads_the_queues_once(ml50: Cluster) -> None:
    (binding,) = [item for item in made(ml50).objects if item["kind"] == "ClusterRoleBinding"]
    names = [who["name"] for who in binding["subjects"]]
    assert sorted(names) == ["oidc:language", "oidc:recommender", "oidc:serving", "oidc:sre", "oidc:vision"]


def policy(cluster: Cluster) -> Any:
    return of_team(cluster, cluster.teams[0].name, "NetworkPolicy")["team"]["spec"]


def peers(spec: Manifest, direction: str) -> list[Any]:
    side = "from" if direction == "ingress" else "to"
    return [peer for rule in spec[direction] for peer in rule[side]]


def test_everything_is_closed_first(ml50: Cluster) -> None:
    spec = of_team(ml50, "vision", "NetworkPolicy")["default-deny"]["spec"]
    assert spec == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_other_teams_stay_outside(ml50: Cluster) -> None:
    own, operator = peers(policy(ml50), "ingress")  # no Prometheus here
    assert own == {"podSelector": {}}
    assert operator["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "kuberay-system"}
    assert not {team.name for team in ml50.teams} & set(opened(ml50))


@pytest.mark.parametrize("name", ["ml50", "a30"])
def test_the_way_out_leaves_out_every_network_of_the_cluster(name: str, request: pytest.FixtureRequest) -> None:
    cluster: Cluster = request.getfixturevalue(name)
    (block,) = [
        peer["ipBlock"]
        for peer in peers(policy(cluster), "egress")
        if peer.get("ipBlock", {}).get("cidr") == "0.0.0.0/0"
    ]
    closed = [ip_network(cidr) for cidr in block["except"]]
    own = [cluster.kubernetes.pod_cidr, cluster.kubernetes.service_cidr]
    own += [network.cidr for machine in cluster.machines for network in machine.networks.values()]
    assert all(any(network == other for other in closed) for network in own)
    assert len(closed) == len(set(closed))


EXPORTS: dict[str, dict[str, Any]] = {
    "backups": {"elsewhere": (Elsewhere(name="nas", nfs=Export(server="nas.example.org", path="/backups")),)},
    "volumes": {"nfs": Nfs(server="nas.example.org", share="/models")},
    "none": {"nfs": Nfs(filesystem="shared")},
}


@pytest.mark.parametrize("name", EXPORTS)
def test_nfs_outside_is_for_nodes_alone(ml50: Cluster, name: str) -> None:
    """A server believes a node's address, and pods leave with it."""
    asked = structs.replace(ml50, storage=structs.replace(ml50.storage, **EXPORTS[name]))
    (rule,) = [one for one in policy(asked)["egress"] if "ipBlock" in one["to"][0]]
    spans = [(one["protocol"], one["port"], one["endPort"]) for one in rule.get("ports", ())]
    some = (22, 443, 2048, 2049, 2050, 65535)
    open_to = {(of, port) for of, first, last in spans for port in some if first <= port <= last}
    left = {(of, port) for of in ("TCP", "UDP") for port in some if port != 2049}
    assert open_to == (set() if name == "none" else left)


def test_ipv6_has_a_way_out_of_its_own(ml50: Cluster) -> None:
    kubernetes = structs.replace(
        ml50.kubernetes, pod_cidr6=IPv6Network("fd00:1::/56"), service_cidr6=IPv6Network("fd00:2::/112")
    )
    node = structs.replace(ml50.networks.node, cidr6=IPv6Network("fd00:3::/64"))
    changed = structs.replace(ml50, kubernetes=kubernetes, networks=structs.replace(ml50.networks, node=node))
    blocks = [peer["ipBlock"] for peer in peers(policy(changed), "egress") if "ipBlock" in peer]
    assert blocks[1] == {"cidr": "::/0", "except": ["fd00:1::/56", "fd00:2::/112", "fd00:3::/64"]}


def test_calico_opens_the_control_plane_by_address(a30: Cluster) -> None:
    assert {"ipBlock": {"cidr": "129.254.202.251/32"}} in peers(policy(a30), "egress")
    assert made(a30).needs == ("queues", "csi-nfs")
    assert of_team(a30, "mlperf", "CiliumNetworkPolicy") == {}


def test_cilium_opens_the_api_server_by_its_name(ml50: Cluster) -> None:
    egress = of_team(ml50, "vision", "CiliumNetworkPolicy")["team-api-server"]["spec"]["egress"]
    only = [{"ports": [{"port": "6443", "protocol": "TCP"}]}]
    assert egress == [{"toEntities": ["kube-apiserver"], "toPorts": only}], "nothing else of control-plane nodes"
    assert not any(peer.get("ipBlock", {}).get("cidr", "").endswith("/32") for peer in peers(policy(ml50), "egress"))
    (needs,) = [component.needs for component in compose(ml50) if component.name == "tenants"]
    assert set(needs) == {"queues", "cilium"}


def test_s3_is_open_only_where_there_is_one(ml50: Cluster) -> None:
    assert opened(ml50) == ["kube-system", "minio", "rook-ceph"]
    assert opened(structs.replace(ml50, storage=structs.replace(ml50.storage, ceph=None))) == ["kube-system", "minio"]
    assert opened(structs.replace(ml50, storage=Storage())) == ["kube-system"]


def opened(cluster: Cluster) -> list[str]:
    """The namespaces that a team's pods may talk to."""
    selectors = [peer["namespaceSelector"] for peer in peers(policy(cluster), "egress") if "namespaceSelector" in peer]
    return [selector["matchLabels"]["kubernetes.io/metadata.name"] for selector in selectors]


def test_prometheus_may_scrape(a30: Cluster) -> None:
    assert len(peers(policy(a30), "ingress")) == 2


def test_policies_hold_in_the_namespaces_of_teams_and_only_there(ml50: Cluster) -> None:
    base = made(ml50).base
    policies = {item["metadata"]["name"] for item in base if item["kind"] == "ValidatingAdmissionPolicy"}
    bound = [item["spec"] for item in base if item["kind"] == "ValidatingAdmissionPolicyBinding"]
    assert {spec["policyName"] for spec in bound} == policies
    chosen = {"matchExpressions": [{"key": TEAM, "operator": "Exists"}]}
    assert all(spec["matchResources"]["namespaceSelector"] == chosen for spec in bound)
    assert all(spec["validationActions"] == ["Deny"] for spec in bound)


def test_every_kind_that_members_may_run_must_name_its_queue(ml50: Cluster) -> None:
    rules = next(item for item in made(ml50).base if item["metadata"]["name"] == "gen-queue-name")["spec"]
    matched = [
        (group, kind)
        for rule in rules["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for kind in rule["resources"]
    ]
    made_by_members = {
        (group, kind)
        for rule in role(ml50, "gen:team-member")["rules"]
        for group in rule["apiGroups"]
        for kind in rule["resources"]
        if group and "create" in rule["verbs"]
    }
    # Those run no pods themselves: a CronJob's Jobs are asked, an autoscaler changes a Deployment, a budget keeps pods.
    made_by_members -= {("batch", "cronjobs"), ("autoscaling", "horizontalpodautoscalers")}
    made_by_members -= {("policy", "poddisruptionbudgets")}
    assert made_by_members == set(matched)


def test_the_priorities_that_rules_allow_are_those_that_exist(ml50: Cluster) -> None:
    component = queues(ml50)
    names = [item["metadata"]["name"] for item in component.objects if item["kind"] == "PriorityClass"]
    assert names
    assert all(name.startswith(BATCH) for name in names)


def test_no_teams_no_tenants(ml50: Cluster) -> None:
    assert not TENANTS.wanted(structs.replace(ml50, teams=()))


def test_a_bound_of_a_class_is_one_of_the_quota(ml50: Cluster) -> None:
    vision = structs.replace(ml50.teams[0], storage=None, storage_classes={"rbd-nvme": Quantity.parse("30Ti")})
    hard = quota(ml50, vision)["spec"]["hard"]
    assert hard["rbd-nvme.storageclass.storage.k8s.io/requests.storage"] == "30Ti"
    assert "requests.storage" not in hard


def test_every_variable_of_a_policy_is_read(ml50: Cluster) -> None:
    found = [one["spec"] for one in made(ml50).base if one["kind"] == "ValidatingAdmissionPolicy"]
    assert sum("variables" in spec for spec in found) > 5
    for spec in found:
        rules = [one["expression"] for one in (*spec["validations"], *spec.get("variables", ()))]
        defined = {one["name"] for one in spec.get("variables", ())}
        assert defined == set(re.findall(r"\bvariables\.([a-z]+)", " ".join(rules)))


def test_a_team_gets_the_keys_of_its_users_of_minio_and_no_others(ml50: Cluster) -> None:
    objects = ml50.storage.objects
    assert objects
    assert {user.name: user.team for user in objects.users if user.team} == {"serving": "serving"}
    (made,) = next(one for one in compose(ml50) if one.name == "tenants").secrets
    assert (made.namespace, made.name, made.copy_of) == ("serving", "minio-user-serving", "minio/minio-user-serving")
    (source,) = (
        secret for one in compose(ml50) if one.name == "minio" for secret in one.secrets if secret.name == made.name
    )
    assert (source.keys, source.source) == (made.keys, made.source)


def with_bucket(cluster: Cluster, **changes: Any) -> Cluster:
    bucket = TeamBucket(name="raw", store="datasets", size=Quantity.parse("2Ti"), **changes)
    first, *others = cluster.teams
    return structs.replace(cluster, teams=(structs.replace(first, buckets=(bucket,)), *others))


def test_a_bucket_of_a_team_is_claimed_in_its_namespace_within_its_bounds(ml50: Cluster) -> None:
    cluster = with_bucket(ml50, objects=1000)
    (name, claim), *more = of_team(cluster, "vision", "ObjectBucketClaim").items()
    assert not more
    assert name == "ceph-bucket-raw"
    assert claim["spec"]["bucketName"] == "raw"
    assert claim["spec"]["additionalConfig"] == {"maxSize": "2Ti", "maxObjects": "1000"}
    assert claim["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] == "Prune=false,Delete=false"
    assert not of_team(cluster, "language", "ObjectBucketClaim")
    unbounded = of_team(with_bucket(ml50), "vision", "ObjectBucketClaim")[name]
    assert unbounded["spec"]["additionalConfig"] == {"maxSize": "2Ti"}


def test_a_team_s_bucket_outlives_its_claim(ml50: Cluster) -> None:
    (claim,) = of_team(with_bucket(ml50), "vision", "ObjectBucketClaim").values()
    classes = {one["metadata"]["name"]: one for one in ceph_cluster(ml50).objects if one["kind"] == "StorageClass"}
    assert classes[claim["spec"]["storageClassName"]]["reclaimPolicy"] == "Retain"


def test_the_keys_of_a_team_s_bucket_come_from_rook_into_its_namespace(ml50: Cluster) -> None:
    component = made(with_bucket(ml50))
    (declared,) = (one for one in component.secrets if one.name == "ceph-bucket-raw")
    assert (declared.namespace, declared.source, declared.by) == ("vision", "in-cluster", "ceph-cluster")
    assert declared.keys == ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    assert "ceph-cluster" in component.needs
    assert "ceph-cluster" not in made(ml50).needs


def test_backups_read_a_team_s_bucket_as_they_read_others(ml50: Cluster) -> None:
    """The claim says so beside its bounds: Rook takes away a policy that it does not name."""
    first = ml50.backups[0]
    source = structs.replace(first.source, bucket="raw")
    cluster = structs.replace(with_bucket(ml50), backups=(structs.replace(first, source=source),))
    (claim,) = of_team(cluster, "vision", "ObjectBucketClaim").values()
    more = claim["spec"]["additionalConfig"]
    assert more["maxSize"] == "2Ti"
    (statement,) = json.loads(more["bucketPolicy"])["Statement"]
    assert statement["Resource"] == ["arn:aws:s3:::raw", "arn:aws:s3:::raw/*"]
