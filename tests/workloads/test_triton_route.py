"""How a Triton is reached from outside: by the team's hosts, and for inference alone."""

import re

import pytest
from manifests import built
from msgspec import structs
from reference import load
from test_triton import made, of_kind, refused
from validation.schemas import refused as against_schemas

from generator.model.cluster import Cluster
from generator.rules.team_routes import by_own_hosts, by_the_gateway, to_own_services


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return load("gpu-serving")


def test_a_host_of_the_team_leads_to_it(cluster: Cluster) -> None:
    host = "asr.search.apps.serving.example.org"
    one = made(cluster, host=host)
    route, service = of_kind(one, "HTTPRoute"), of_kind(one, "Service")
    assert against_schemas(route, ["gateway-api-v1.6.1"]) == []
    assert route["spec"]["hostnames"] == [host]
    (behind,) = route["spec"]["rules"][0]["backendRefs"]
    assert behind["name"] == service["metadata"]["name"]
    assert behind["port"] in {port["port"] for port in service["spec"]["ports"] if port["name"] == "http"}
    whole = built(*one.manifests, cluster=cluster)
    told = [f.message for rule in (by_own_hosts, by_the_gateway, to_own_services) for f in rule.findings(whole)]
    assert told == []
    assert not [each for each in made(cluster).manifests if each["kind"] == "HTTPRoute"]


REACHED = """
/v2/health/live /v2/health/ready /v2/models/asr/ready /v2/models/asr/infer /v2/models/asr/generate
/v2/models/asr_2.5-large/versions/12/infer /v2/models/llm/generate_stream /v2/models/asr/versions/3/ready
"""
CLOSED = """
/ /v2 /v2/ /v2/logging /v2/trace/setting /v2/models/asr/trace/setting /v2/models/asr/versions/1/trace/setting
/v2/systemsharedmemory/status /v2/systemsharedmemory/region/x/register /v2/cudasharedmemory/region/x/register
/v2/repository/index /v2/repository/models/asr/unload /v2/models/asr/config /v2/models/asr/stats /v2/models/stats
/v2/models/../logging /v2/models/asr/../../logging /v2/models/asr%2Ftrace%2Fsetting /v2/models/..%2Frepository%2Findex
/v2/models/asr/infer/../trace/setting /x/v2/models/asr/infer /metrics
"""


def test_from_outside_inference_is_reached_and_nothing_that_changes_the_server(cluster: Cluster) -> None:
    """Triton asks nobody who he is, and has all of it at one port."""
    (rule,) = of_kind(made(cluster, host="search.apps.serving.example.org"), "HTTPRoute")["spec"]["rules"]
    exact = {one["path"]["value"] for one in rule["matches"] if one["path"]["type"] == "Exact"}
    # As Envoy matches them: the whole path, without what is asked behind it.
    patterns = [one["path"]["value"] for one in rule["matches"] if one["path"]["type"] == "RegularExpression"]

    def reached(path: str) -> bool:
        return path in exact or any(re.fullmatch(pattern, path) for pattern in patterns)

    assert len(exact) + len(patterns) == len(rule["matches"])
    assert [path for path in REACHED.split() if not reached(path)] == []
    assert [path for path in CLOSED.split() if reached(path)] == []


def test_a_host_of_others_is_refused(cluster: Cluster) -> None:
    told = refused(cluster, host="assistant.apps.serving.example.org")
    assert "not a host of team search" in told
    assert "it has search.apps.serving.example.org, asr.search.apps.serving.example.org" in told
    quiet = structs.replace(cluster, teams=tuple(structs.replace(team, hosts=()) for team in cluster.teams))
    assert refused(quiet, host="search.apps.serving.example.org").endswith("it has none")
