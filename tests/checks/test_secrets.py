"""Texts that look like secrets. They are put together here so that none stands in the repository."""

from typing import Any

import pytest
from msgspec import structs

from generator.checks.secrets import no_secrets
from generator.model.cluster import Cluster, ComponentSettings, Git
from generator.model.finding import Path, Position

FORMS = {
    "an AWS access key": "AKIA" + "A1" * 8,
    "a private key": "-----BEGIN " + "RSA PRIVATE KEY-----",
    "a GitHub token": "ghp_" + "a" * 36,
    "a GitLab token": "glpat-" + "a" * 20,
    "a Slack token": "xoxb-" + "1" * 12,
    "a webhook's address": "https://hooks.slack.com/" + "services/T0/B0/x",
    "a JSON web token": "eyJ" + "a" * 10 + ".eyJ" + "b" * 10 + ".c",
}


def with_values(cluster: Cluster, values: dict[str, Any]) -> Cluster:
    return structs.replace(cluster, components={"cilium": ComponentSettings(values=values)})


def places(cluster: Cluster) -> list[Path | Position]:
    return [finding.at for finding in no_secrets.check(cluster)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["{}", "first line\n{}\nlast line", "key={};"])
def test_a_secret_is_known_by_its_form_anywhere(form: str, around: str, ml50: Cluster) -> None:
    git = Git(known_hosts=("a b c", around.format(FORMS[form])))
    cluster = structs.replace(ml50, site=structs.replace(ml50.site, git=git))
    (finding,) = no_secrets.check(cluster)
    assert finding.message == f"this is {form}"
    assert finding.at == ("site", "git", "knownHosts", 1)


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_never_repeated_in_the_message(form: str, ml50: Cluster) -> None:
    (finding,) = no_secrets.check(with_values(ml50, {"extra": FORMS[form]}))
    assert FORMS[form] not in finding.message + finding.fix


@pytest.mark.parametrize("key", ["adminPassword", "token", "API_KEY", "clientSecret", "passphrase"])
def test_a_password_in_chart_values_is_found_however_deep(key: str, ml50: Cluster) -> None:
    cluster = with_values(ml50, {"a": [{"b": {key: "plain"}}]})
    assert places(cluster) == [("components", "cilium", "values", "a", 0, "b", key)]


@pytest.mark.parametrize(
    "values",
    [
        {"existingSecret": "grafana", "passwordKey": "password"},
        {"password": ""},
        {"password": None, "token": True},
        {"token": "$oidc.token"},
        {"tokenTTL": "1h"},
        {"text": "AKIA is how such keys begin, ghp_ how others do"},
    ],
)
def test_names_of_secrets_are_none(values: dict[str, Any], ml50: Cluster) -> None:
    assert places(with_values(ml50, values)) == []
