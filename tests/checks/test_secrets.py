"""Texts that look like secrets. They are put together here so that none stands in the repository."""

import re
from pathlib import Path as Folder
from typing import Any

import pytest
from msgspec import structs
from reference import ROOT

from generator.checks.secrets import no_secrets
from generator.cli import run
from generator.model.cluster import Cluster, ComponentSettings
from generator.model.extras import Extra, ExtraChart
from generator.model.finding import Path, Position
from generator.model.site import Git

FORMS = {
    "an AWS access key": "AKIA" + "A1" * 8,
    "a private key": "-----BEGIN " + "RSA PRIVATE KEY-----\n" + "MIIE" * 8,
    "a GitHub token": "ghp_" + "a" * 36,
    "an age key": "AGE-SECRET-" + "KEY-1" + "Q" * 20,
    "a Hugging Face token": "hf_" + "a" * 34,
    "an NVIDIA key": "nvapi-" + "a" * 64,
    "a GitLab token": "glpat-" + "a" * 20,
    "a Slack token": "xoxb-" + "1" * 12,
    "a webhook's address": "https://hooks.slack.com/" + "services/T0/B0/" + "x" * 12,
    "a JSON web token": "eyJ" + "a" * 10 + ".eyJ" + "b" * 10 + "." + "c" * 10,
}


def with_values(cluster: Cluster, values: dict[str, Any], section: str = "components") -> Cluster:
    chart = ExtraChart(name="mine", repository="https://charts.example.org", version="1.0.0")
    settings = {
        "components": {"cilium": ComponentSettings(values=values)},
        "extras": {"cilium": Extra(namespace="mine", chart=chart, values=values)},
    }
    return structs.replace(cluster, **{section: settings[section]})


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


WORD = "hunter" + "22"


@pytest.mark.parametrize(
    ("values", "at"),
    [
        ({"env": [{"name": "DB_PASSWORD", "value": WORD}]}, ("env", 0, "value")),
        ({"args": ["--password=" + WORD]}, ("args", 0)),
        ({"url": f"https://user:{WORD}@db.example.org/x"}, ("url",)),
        ({"url": f"https://db.example.org/x?token={WORD}"}, ("url",)),
        ({"minio": {"secretKey": WORD}}, ("minio", "secretKey")),
        ({"db_pass": WORD}, ("db_pass",)),
        ({"pass": WORD}, ("pass",)),
        ({"config": f"a: 1\npassword: {WORD}\n"}, ("config",)),
        ({"args": ["--user", "x", "--password", WORD]}, ("args", 3)),
        ({"args": ["--token " + WORD]}, ("args", 0)),
        ({"args": ["--auth-token=" + WORD]}, ("args", 0)),
        ({"dsn": f"host=x user=y password={WORD} sslmode=require"}, ("dsn",)),
        ({"authorization": f"Bearer {WORD}"}, ("authorization",)),
        ({"headers": [{"name": "Authorization", "value": f"Basic {WORD}"}]}, ("headers", 0, "value")),
        ({"config": f"a: 1\nheaders: {{Authorization: 'Bearer {WORD}'}}\n"}, ("config",)),
        ({"url": f"git.example.org/x?a=b&token={WORD}"}, ("url",)),
        ({"config": f"[x]\nclient_secret = {WORD}\n"}, ("config",)),
    ],
)
@pytest.mark.parametrize("section", ["components", "extras"])
def test_a_password_is_found_in_whatever_form_it_is_written(
    values: dict[str, Any], at: Path, section: str, ml50: Cluster
) -> None:
    (finding,) = no_secrets.check(with_values(ml50, values, section))
    assert finding.at == (section, "cilium", "values", *at)
    assert finding.secret
    assert WORD not in finding.message + finding.fix


@pytest.mark.parametrize(
    "values",
    [
        {"env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]},
        {"env": [{"name": "DB_PASSWORD", "value": "$(OTHER)"}]},
        {"args": ["--password=$(PASSWORD)", "--password-file=/run/x"]},
        {"auth": {"secretName": "minio", "secretKey": "password"}},
        {"url": "https://user:$PASSWORD@db.example.org/x"},
        {"bypass": "all", "compass": "north"},
        {"config": "password: ${PASSWORD}\n"},
        {"args": ["--password", "$(PASSWORD)", "--token-ttl", "1h", "--token", "--verbose"]},
        {"dsn": "host=x user=y password=$PASSWORD", "other": "password={{ .password }} user=y"},
        {"authorization": "Bearer ${TOKEN}", "text": "takes a bearer token", "mode": "Authorization: Bearer <token>"},
        {"url": "git.example.org/x?token=${TOKEN}", "help": "why? token=none"},
        {"tokenExpiration": "3600s", "secret": "name-of-one"},
    ],
)
def test_what_only_leads_to_a_password_is_none(values: dict[str, Any], ml50: Cluster) -> None:
    assert places(with_values(ml50, values)) == []


@pytest.mark.parametrize("output", ["text", "json", "github"])
def test_a_password_is_printed_nowhere(tmp_path: Folder, capsys: pytest.CaptureFixture[str], output: str) -> None:
    text = (ROOT / "clusters/ml50/cluster.yaml").read_text()
    text = text.replace(
        "  site:\n", f"  site:\n    mirrors: [{{registry: docker.io, mirror: 'https://u:{WORD}@m.example.org/x'}}]\n", 1
    )
    text = text.replace("url: ", f"url: https://git:{WORD}@git.example.org/x.git?private_token={WORD} # ", 1)
    (tmp_path / "clusters/ml50").mkdir(parents=True)
    (tmp_path / "clusters/ml50/cluster.yaml").write_text(text)
    assert run(["check", "-C", str(tmp_path), "--output", output]) == 1
    out = capsys.readouterr().out
    assert WORD not in out
    assert out.count("GEN-SITE-005") == 2


REFUSED = {
    "site": (
        "images: 'u:{}@m.example.org/x'",
        "charts: 'u:{}@h.example.org'",
        "proxy: {{https: 'u:{}@h.example.org:3128'}}",
        "proxy: {{http: 'http://h.example.org', noProxy: ['u:{}@h.example.org']}}",
        "ntp: ['u:{}@h.example.org']",
        "dns: ['https://u:{}@m.example.org']",
        "mirrors: 'https://u:{}@m.example.org/x'",
        "mirrors: [{{registry: docker.io, mirror: 'm.example.org/x?token={}'}}]",
        "password: {}",
        "db: {{pwd: {}}}",
        "ingressClass: 'https://{}@m.example.org'",
        "domain: '--password={}'",
    ),
    "repository": ("branch: 'https://u:{}@x.example.org'",),
}


@pytest.mark.parametrize("word", [WORD.title(), WORD * 9])
@pytest.mark.parametrize(("section", "line"), [(key, line) for key, lines in REFUSED.items() for line in lines])
def test_a_password_in_a_refused_value_is_printed_nowhere(
    tmp_path: Folder, capsys: pytest.CaptureFixture[str], section: str, line: str, word: str
) -> None:
    """Also not what a fix would make of it, nor its beginning where a long value is cut off."""
    text = (ROOT / "clusters/ml50/cluster.yaml").read_text()
    key = line.partition(":")[0]
    head, _, rest = text.partition(f"  {section}:\n")
    rest = re.sub(rf"(?m)^    {key}:.*\n(?:      .*\n)*", "", rest, count=1)
    (tmp_path / "clusters/ml50").mkdir(parents=True)
    whole = f"{head}  {section}:\n    {line.format(word)}\n{rest}"
    (tmp_path / "clusters/ml50/cluster.yaml").write_text(whole)
    for output in ("text", "json", "github", "gitlab"):
        assert run(["check", "-C", str(tmp_path), "--output", output]) == 1
        out = capsys.readouterr().out
        assert "GEN-" in out
        assert WORD[:6] not in out.lower()
