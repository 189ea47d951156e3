"""Whom Alertmanager tells: what is rendered of it."""

import json
import re
from typing import Any

import pytest
from msgspec import structs
from validation.schemas import problems

from generator.components.kube_prometheus_stack import NAMES, kube_prometheus_stack, told
from generator.model.cluster import Adopt, Cluster, ComponentSettings
from generator.model.fields import spots
from generator.model.monitoring import Alert, Prometheus
from generator.model.site import Proxy

CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
ON_CALL = Alert(via="slack", channel="#on-call")
TEAM = Alert(via="mattermost", channel="ops/#alerts", severity="high", after="30m")


def telling(
    cluster: Cluster, *alerts: Alert, proxy: Proxy | None = None, ca: str | None = None, **more: Any
) -> Cluster:
    prometheus = Prometheus(alerts=alerts, mattermost="http://chat.example.org:8065", **more)
    site = structs.replace(cluster.site, proxy=proxy, ca=ca)
    monitoring = structs.replace(cluster.monitoring, prometheus=prometheus, zabbix=None)
    return structs.replace(cluster, site=site, monitoring=monitoring)


def configuration(cluster: Cluster) -> dict[str, Any]:
    made = [one for one in kube_prometheus_stack(cluster).objects if one["kind"] == "AlertmanagerConfig"]
    return made[0] if made else {}


def test_it_fits_the_schema(ml50: Cluster) -> None:
    cluster = telling(
        ml50, ON_CALL, TEAM, proxy=Proxy(http="http://proxy.example.org:3128"), ca=CA, heartbeat="https://w"
    )
    made = kube_prometheus_stack(cluster).objects
    kinds = {"AlertmanagerConfig", "PrometheusRule"}
    assert [problem for one in made if one["kind"] in kinds for problem in problems(one)] == []


def test_each_webhook_is_a_key_of_the_secret_and_none_is_in_git(ml50: Cluster) -> None:
    cluster = telling(ml50, ON_CALL, TEAM, ON_CALL)
    component = kube_prometheus_stack(cluster)
    (secret,) = [one for one in component.secrets if one.name.startswith("alertmanager")]
    made = configuration(cluster)
    asked = [value for _, value in spots(made, "spec.receivers.*.slackConfigs.*.apiURL")]
    assert asked == [{"name": secret.name, "key": key} for key in secret.keys]
    assert secret.keys == ("slack.on-call", "mattermost.ops.alerts")
    assert "https:" not in json.dumps(made)
    (named,) = {name for _, way, _ in NAMES for _, name in spots(made, way)}
    assert named == secret.name


def test_who_writes_the_whole_configuration_himself_still_may(ml50: Cluster) -> None:
    component = kube_prometheus_stack(telling(ml50))
    spec = component.releases[0].values["alertmanager"]["alertmanagerSpec"]
    assert spec["configSecret"] in {one.name for one in component.secrets}
    assert "alertmanagerConfiguration" not in spec
    assert configuration(telling(ml50)) == {}


def test_alerts_are_nobody_s_where_zabbix_tells(ml50: Cluster) -> None:
    cluster = telling(ml50, ON_CALL)
    both = structs.replace(cluster, monitoring=structs.replace(cluster.monitoring, zabbix=ml50.monitoring.zabbix))
    assert configuration(cluster)
    assert configuration(both) == {}


def test_jobs_of_teams_that_fail_or_train_for_long_are_nobody_s(ml50: Cluster) -> None:
    """The chart alerts of each Job that is active for twelve hours, in any namespace."""
    routes = configuration(telling(ml50, ON_CALL))["spec"]["route"]["routes"]
    (silent,) = [one for one in routes[1:] if one["receiver"] == "nobody"]
    named = {one["name"]: one["value"] for one in silent["matchers"]}
    assert set(named["namespace"].split("|")) == {team.name for team in ml50.teams}
    assert {one["matchType"] for one in silent["matchers"]} == {"=~"}
    assert re.fullmatch(named["alertname"], "KubeJobNotCompleted")
    assert not re.fullmatch(named["alertname"], "KubePersistentVolumeFillingUp")
    assert routes.index(silent) < min(routes.index(one) for one in routes if one["receiver"] == "slack.on-call")
    alone = structs.replace(telling(ml50, ON_CALL), teams=())
    assert [one["receiver"] for one in configuration(alone)["spec"]["route"]["routes"]].count("nobody") == 1


def test_an_adopted_alertmanager_is_told_in_its_own_namespace(ml50: Cluster) -> None:
    adopted = ComponentSettings(adopt=Adopt(release="prom", namespace="watch"))
    cluster = structs.replace(telling(ml50, ON_CALL), components={"kube-prometheus-stack": adopted})
    assert configuration(cluster)["metadata"]["namespace"] == "watch"


def ways(cluster: Cluster) -> list[dict[str, Any]]:
    made = configuration(cluster)
    rows = ("spec.receivers.*.slackConfigs.*", "spec.receivers.*.webhookConfigs.*")
    return [one.get("httpConfig", {}) for row in rows for _, one in spots(made, row)]


def test_the_site_s_proxy_is_for_what_is_outside(ml50: Cluster) -> None:
    proxy = Proxy(
        http="http://proxy.example.org:3128", https="http://secure.example.org:3128", no_proxy=(".example.org",)
    )
    slack, mattermost, beat = ways(telling(ml50, ON_CALL, TEAM, proxy=proxy, heartbeat="https://watch.example.net/x"))
    assert [one["proxyUrl"] for one in (slack, mattermost, beat)] == [proxy.https, proxy.http, proxy.https]
    assert all(one["noProxy"].split(",")[-1] == ".example.org" for one in (slack, mattermost, beat))
    assert ways(telling(ml50, ON_CALL, heartbeat="https://watch.example.net/x")) == [{"followRedirects": False}, {}]


def test_the_site_s_ca_is_trusted_beside_others(ml50: Cluster) -> None:
    component = kube_prometheus_stack(telling(ml50, TEAM, ca=CA))
    spec = component.releases[0].values["alertmanager"]["alertmanagerSpec"]
    (held,) = [one for one in component.objects if one["metadata"]["name"] in spec["configMaps"]]
    assert CA in held["data"].values()
    (container,) = spec["containers"]
    assert container["name"] == "alertmanager"
    assert container["env"][0]["value"].split(":")[1].endswith(f"/configmaps/{held['metadata']['name']}")


@pytest.mark.parametrize(
    ("channel", "key"),
    [
        ("#oncall", "slack.oncall"),
        ("@ada", "slack.at.ada"),
        ("ops/#alerts", "slack.ops.alerts"),
        ("C0123456789", "slack.C0123456789"),
        ("#läuft", "slack.l_e4_uft"),
    ],
)
def test_the_key_of_a_channel_is_one_that_secrets_take(channel: str, key: str) -> None:
    assert told.key(Alert(via="slack", channel=channel)) == key


def test_nobody_waits_for_longer_than_a_week(ml50: Cluster) -> None:
    """Alertmanager refuses times that it cannot count."""
    late = structs.replace(TEAM, after=f"{'9' * 20}d")
    routes = configuration(telling(ml50, late))["spec"]["route"]["routes"]
    assert [route.get("groupWait") for route in routes if route["receiver"] != "nobody"] == ["604800s"]
