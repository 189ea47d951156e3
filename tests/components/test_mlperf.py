"""Benchmarks: what is made of the cluster file, who may run them, and that no pod passes the queue."""

import json
import re
from typing import Any

from msgspec import structs
from reference import load, without_operations
from validation.schemas import problems

from generator.components import JOBS, compose
from generator.components.argo_workflows import DEFINITION as ARGO_WORKFLOWS
from generator.components.kube_prometheus_stack import kube_prometheus_stack
from generator.components.mlperf import DEFINITION, mlperf
from generator.components.mlperf.jobs import plan
from generator.components.mlperf.names import GOOD, NAMESPACE, PEOPLE
from generator.components.mlperf.template import FILES, scripts, workflow_template
from generator.components.static import read_text
from generator.components.tenants.rbac import roles
from generator.model.cluster import Cluster
from generator.model.gpus import devices
from generator.model.mlperf import LIMITS, MlperfRun, Model

Object = dict[str, Any]


def objects(cluster: Cluster, kind: str, namespace: str = NAMESPACE) -> dict[str, Object]:
    made = mlperf(cluster)
    found = [one for one in (*made.base, *made.objects) if one["kind"] == kind]
    return {one["metadata"]["name"]: one for one in found if one["metadata"]["namespace"] == namespace}


def plans(cluster: Cluster) -> dict[str, Object]:
    """Return what the operation reads of each benchmark."""
    data = objects(cluster, "ConfigMap")["mlperf-benchmarks"]["data"]
    return {name.removesuffix(".json"): json.loads(text) for name, text in data.items()}


def pod(one: Object) -> Object:
    found: Object = one["job"]["spec"]["template"]["spec"]
    return found


def variables(one: Object) -> dict[str, str]:
    (container,) = pod(one)["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}


def test_a_cluster_without_benchmarks_has_none_and_needs_no_argo_workflows(a30: Cluster, ml50: Cluster) -> None:
    assert DEFINITION.wanted(a30)
    assert ARGO_WORKFLOWS.wanted(a30)
    without = without_operations(a30)
    assert not DEFINITION.wanted(without)
    assert not ARGO_WORKFLOWS.wanted(without)
    assert not DEFINITION.wanted(ml50)


def test_objects_are_accepted(a30: Cluster) -> None:
    made = mlperf(a30)
    templates = [template for one in made.operations for template in one.templates]
    jobs = [one["job"] for one in plans(a30).values()]
    assert len(jobs) == 4
    assert [each for one in (*made.base, *made.objects, *templates, *jobs) for each in problems(one)] == []


def test_limits_are_known_of_every_model() -> None:
    assert set(Model.__args__) == set(LIMITS)  # type: ignore[attr-defined]
    for one in LIMITS.values():
        assert (one.first_token is None) == (one.each_token is None)
        assert one.latency is None or one.first_token is None


def test_one_node_is_one_pod_with_all_of_its_gpus(a30: Cluster) -> None:
    one = plans(a30)["resnet50-offline"]
    spec = one["job"]["spec"]
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 0)
    assert "subdomain" not in pod(one)
    (container,) = pod(one)["containers"]
    assert container["resources"]["limits"] == {"cpu": "54", "memory": "217Gi", "nvidia.com/gpu": "1"}
    assert "requests" not in container["resources"], "limits alone: the class is Guaranteed"
    assert variables(one) | {"MASTER_ADDR": "localhost", "PODS": "1", "GPUS": "1"} == variables(one)


def test_several_nodes_are_a_gang_that_meets_without_ssh(a30: Cluster) -> None:
    one = plans(a30)["resnet50-offline-both"]
    job = one["job"]
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (2, 2)
    assert job["metadata"]["annotations"] == {"scheduling.volcano.sh/group-min-member": "2"}
    assert pod(one)["schedulerName"] == "volcano"
    name = "mlperf-resnet50-offline-both"
    assert variables(one)["MASTER_ADDR"] == f"{name}-0.{name}"
    assert pod(one)["subdomain"] == name
    services = objects(a30, "Service", "mlperf")
    assert services.keys() == {name, "mlperf-retinanet-server-both"}
    assert services[name]["spec"]["publishNotReadyAddresses"] is True
    assert services[name]["spec"]["selector"] == {"batch.kubernetes.io/job-name": name}


def test_on_infiniband_each_pod_of_several_gets_the_hcas(ml50: Cluster, a30: Cluster) -> None:
    assert a30.mlperf
    vision = next(one for one in ml50.teams if one.name == "vision")
    wanted = structs.replace(a30.mlperf, team="vision", pool="gpu-training")
    run = MlperfRun(name="llama", model="llama2-70b", scenario="Offline", queries_per_second=40, nodes=2)
    one = plan(ml50, vision, wanted, run)
    (container,) = pod(one)["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert container["resources"]["limits"]["rdma/hca_shared_devices_a"] == "1"
    assert "NCCL_IB_DISABLE" not in variables(one)
    alone = plan(ml50, vision, wanted, structs.replace(run, nodes=1))
    assert not [key for key in pod(alone)["containers"][0]["resources"]["limits"] if key.startswith("rdma/")]


def test_scenarios_are_told_their_load_and_judged_by_their_limits(a30: Cluster) -> None:
    files = objects(a30, "ConfigMap", "mlperf")["mlperf"]["data"]
    assert files["resnet50-server.conf"] == "resnet50.Server.target_qps = 16000.0\n"
    assert files["resnet50-offline.conf"] == "resnet50.Offline.target_qps = 18500.0\n"
    for name, one in plans(a30).items():
        assert variables(one)["USER_CONF"] == f"/program/{name}.conf"
        assert f"{name}.conf" in files
    server, offline = plans(a30)["resnet50-server"], plans(a30)["resnet50-offline"]
    assert server["wanted"]["settings"] == {"target_qps": 16000, "target_latency (ns)": 15_000_000}
    assert offline["wanted"]["settings"] == {"target_qps": 18500}
    assert plans(a30)["retinanet-server-both"]["wanted"]["settings"]["target_latency (ns)"] == 100_000_000


def test_a_job_is_the_teams_in_its_queue(a30: Cluster) -> None:
    for one in plans(a30).values():
        metadata = one["job"]["metadata"]
        assert metadata["namespace"] == "mlperf"
        assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == "default"
        assert pod(one)["priorityClassName"] == f"batch-{metadata['labels']['kueue.x-k8s.io/priority-class']}"
        assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod(one)["tolerations"]
        (container,) = pod(one)["containers"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def rights(role: Object) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_steps_may_no_more_than_members_of_the_team(a30: Cluster) -> None:
    (role,) = objects(a30, "Role", "mlperf").values()
    member = roles(JOBS)[0]
    assert rights(role) <= rights(member)
    assert rights(role) == {
        ("batch", "jobs", "create"),
        ("batch", "jobs", "get"),
        ("batch", "jobs", "delete"),
        ("", "pods", "list"),
        ("", "pods/log", "get"),
    }


def test_members_start_runs_and_change_nothing(a30: Cluster) -> None:
    role = objects(a30, "Role")[PEOPLE]
    changes = {(what, verb) for _group, what, verb in rights(role) if verb not in ("get", "list", "watch")}
    assert changes == {("workflows", "create")}
    binding = objects(a30, "RoleBinding")[PEOPLE]
    assert binding["roleRef"]["name"] == PEOPLE
    assert [(one["kind"], one["name"]) for one in binding["subjects"]] == [("Group", "oidc:mlperf")]


def test_the_namespace_has_no_gpus_of_any_kind(a30: Cluster) -> None:
    hard = objects(a30, "ResourceQuota")["mlperf"]["spec"]["hard"]
    assert hard["requests.nvidia.com/gpu"] == "0"
    serving = load("gpu-serving")
    split = structs.replace(serving, gpus=structs.replace(serving.gpus, mig_strategy="mixed"), mlperf=a30.mlperf)
    offered = {name for one in split.machines for name in devices(split.gpus, one.hardware.gpu)}
    assert len(offered) > 1
    hard = objects(split, "ResourceQuota")["mlperf"]["spec"]["hard"]
    assert {f"requests.{name}" for name in offered} <= {key for key, most in hard.items() if most == "0"}


def test_a_file_without_the_team_or_gpus_renders_what_stands_alone(a30: Cluster) -> None:
    assert a30.mlperf
    for wrong in ({"team": "nobody"}, {"pool": "nowhere"}, {"pool": "system"}):
        cluster = structs.replace(a30, mlperf=structs.replace(a30.mlperf, **wrong))
        assert [one["kind"] for one in mlperf(cluster).objects] == ["ResourceQuota"]


def test_every_step_is_one_of_its_script_and_given_what_it_reads() -> None:
    texts = {name: read_text(path) for name, path in FILES.items()}
    known = re.search(r"^STEPS = (\{.*\})$", texts["mlperf.py"], re.MULTILINE)
    assert known
    steps = [one for one in workflow_template()["spec"]["templates"] if "container" in one]
    assert [one["name"] for one in steps] == re.findall(r'"([\w-]+)":', known[1])
    read = set(re.findall(r'os\.environ\["(\w+)"\]', texts["mlperf.py"]))
    given = [{each["name"] for each in one["container"]["env"]} for one in steps]
    assert read <= set.union(*given)
    asked = {"VALUE", "P99"}
    assert given[1] - given[0] == asked
    assert scripts()["data"].keys() == FILES.keys()


def test_what_the_workflow_tells_prometheus_is_scraped_and_alerted_of(a30: Cluster) -> None:
    told = {one["name"] for one in workflow_template()["spec"]["metrics"]["prometheus"]}
    assert told == {GOOD.removeprefix("argo_workflows_")}
    made = kube_prometheus_stack(a30).objects
    monitors = {one["metadata"]["name"] for one in made if one["kind"] == "ServiceMonitor"}
    assert "argo-workflows" in monitors
    (rule,) = [one for one in made if one["metadata"]["name"] == "benchmarks"]
    assert GOOD in rule["spec"]["groups"][0]["rules"][0]["expr"]
    quiet = kube_prometheus_stack(without_operations(a30)).objects
    assert not [one for one in quiet if one["metadata"]["name"] in ("benchmarks", "argo-workflows")]


def test_what_a30_bench_reads_is_a_claim_that_gen_makes_for_many_nodes() -> None:
    cluster = load("a30-bench")
    assert cluster.mlperf
    made = [one for part in compose(cluster) for one in part.objects if one["kind"] == "PersistentVolumeClaim"]
    of_team = [one for one in made if one["metadata"]["namespace"] == cluster.mlperf.team]
    modes = {one["metadata"]["name"]: one["spec"]["accessModes"] for one in of_team}
    for one in plans(cluster).values():
        (claimed,) = [each["persistentVolumeClaim"] for each in pod(one)["volumes"] if "persistentVolumeClaim" in each]
        assert (modes[claimed["claimName"]], claimed["readOnly"]) == (["ReadOnlyMany"], True)


def test_a_pod_asks_nothing_of_its_node(a30: Cluster) -> None:
    for one in plans(a30).values():
        assert not {"hostNetwork", "hostPID", "hostIPC", "runtimeClassName"} & pod(one).keys()
        assert not [volume for volume in pod(one)["volumes"] if "hostPath" in volume]


def test_the_template_knows_the_names_of_the_benchmarks() -> None:
    cluster = load("a30-bench")
    assert cluster.mlperf
    (patch,) = mlperf(cluster).patches
    (told,) = patch.operations
    number = int(told["path"].split("/")[4])
    assert workflow_template()["spec"]["arguments"]["parameters"][number]["name"] == "benchmark"
    assert (told["path"].endswith("/enum"), told["value"]) == (True, [run.name for run in cluster.mlperf.runs])
