"""Nothing here is a secret: what looks like one is put together while the test runs."""

from typing import Any

import pytest
from manifests import deployment, found, manifest, reached

from generator.rules import secrets

EMPTY, LEAKS, PASSWORDS, KUBECONFIGS = secrets.empty, secrets.no_leaks, secrets.no_passwords, secrets.no_kubeconfigs
BODY = "QUJD" * 8
PEM = "-----BEGIN {}PRIVATE " + "KEY-----\n"


def config(text: str, key: str = "x") -> Any:
    return manifest("ConfigMap", data={key: text})


@pytest.mark.parametrize("part", ["data", "stringData"])
def test_a_secret_with_a_value_is_found(part: str) -> None:
    (problem,) = found(EMPTY, manifest("Secret") | {part: {"a": "eA==", "b": ""}})
    assert problem.at == (part, "a")
    assert problem.secret
    assert "eA==" not in problem.message


@pytest.mark.parametrize(
    "content", [{}, {"data": {}}, {"data": {"a": ""}}, {"data": None}, {"stringData": {"a": "ENC[AES256_GCM,data:x]"}}]
)
def test_a_placeholder_is_not(content: dict[str, Any]) -> None:
    assert found(EMPTY, manifest("Secret", **content)) == []


FORMS = [
    PEM.format("") + BODY,
    PEM.format("RSA ") + BODY,
    PEM.format("OPENSSH ").replace("\n", "\\n") + BODY,
    "AGE-SECRET-" + "KEY-1" + "Q" * 40,
    "AK" + "IA" + "Q" * 16,
    "gh" + "p_" + "a" * 36,
    "glp" + "at-" + "a" * 20,
    "xo" + "xb-" + "1" * 20,
    "https://hooks.slack" + ".com/services/T000/B000/" + "a" * 24,
    "ey" + "J" + "a" * 20 + ".ey" + "J" + "a" * 20 + "." + "a" * 20,
    "h" + "f_" + "a" * 34,
    "nv" + "api-" + "a" * 60,
]


@pytest.mark.parametrize("text", FORMS)
def test_a_well_known_form_is_found_anywhere_and_not_repeated(text: str) -> None:
    for one in (config(f"before\n{text}\nafter"), deployment(args=[f"--key={text}"])):
        (problem,) = found(LEAKS, one)
        assert text in reached(problem)
        assert text not in problem.message + problem.fix
    assert problem.secret


@pytest.mark.parametrize(
    "text",
    [
        "grep -q '" + PEM.format("").strip() + "' /etc/x.pem",
        "-----BEGIN CERTIFICATE-----\n" + BODY,
        "sha256:" + "a" * 64,
        "AKIA is how keys begin",
        "the token of a ServiceAccount is a JWT: header.payload.signature",
    ],
)
def test_what_only_speaks_of_keys_is_not(text: str) -> None:
    assert found(LEAKS, config(text)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD", "swordfish"),
        ("PASSWORD", "x1"),
        ("postgresPassword", "swordfish"),
        ("AWS_SECRET_ACCESS_KEY", "swordfish"),
        ("API_KEY", "swordfish"),
        ("GITHUB_TOKEN", "swordfish"),
        ("OIDC_CLIENT_SECRET", "swordfish"),
        ("PASSWORD", "!sword fish!"),
        ("PASSWORD", "!swordfish"),
    ],
)
def test_a_variable_with_a_password_is_found(name: str, value: str) -> None:
    (problem,) = found(PASSWORDS, deployment(env=[{"name": name, "value": value}]))
    assert reached(problem) == value
    assert value not in problem.message
    assert problem.secret


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASSWORD", ""),
        ("DB_PASSWORD", "$(FROM_ELSEWHERE)"),
        ("DB_PASSWORD", "{{inputs.parameters.password}}"),
        ("DB_PASSWORD_FILE", "/run/secrets/password"),
        ("TOKEN", "/var/run/secrets/token"),
        ("TLS_SECRET", "tls"),
        ("TOKEN_TTL", "24h"),
        ("API_KEY", "true"),
        ("PASSWORD", "given-at-submission"),
        ("MONKEY", "banana"),
        ("API_KEY", "!env_var SONARR_API_KEY"),
        ("PASSWORD", "not set"),
    ],
)
def test_a_variable_that_leads_to_one_is_not(name: str, value: str) -> None:
    assert found(PASSWORDS, deployment(env=[{"name": name, "value": value}])) == []


@pytest.mark.parametrize(
    "args",
    [["--password=swordfish"], ["--db-password", "swordfish"], ["-c", "run --api-key swordfish --x"]],
)
def test_an_argument_with_a_password_is_found(args: list[str]) -> None:
    (problem,) = found(PASSWORDS, deployment(args=args))
    assert "swordfish" not in problem.message
    assert problem.secret


@pytest.mark.parametrize(
    "args",
    [
        ["--password-file=/etc/x"],
        ["--password=$(PASSWORD)"],
        ["--password-file", "x"],
        ["--access-token-ttl=1h"],
        ["--use-token-auth=true"],
        ["--password", "$PASSWORD"],
        ["--password"],
        ["--token", "x"],
    ],
)
def test_an_argument_that_leads_to_one_is_not(args: list[str]) -> None:
    assert found(PASSWORDS, deployment(args=args)) == []


@pytest.mark.parametrize(
    "text",
    [
        "password: swordfish",
        "  db_password = swordfish\n",
        '{\n  "secretKey": "swordfish",\n  "x": 1\n}',
        "export MINIO_ROOT_PASSWORD=swordfish",
        "apiKey: 'swordfish'",
        "adminPassword: swordfish",
    ],
)
def test_a_config_map_with_a_password_is_found(text: str) -> None:
    (problem,) = found(PASSWORDS, config(text))
    assert "swordfish" not in problem.message
    assert problem.secret


@pytest.mark.parametrize(
    "text",
    [
        "password: $PASSWORD",
        "password: ${PASSWORD:-}",
        'password = os.environ["PASSWORD"]',
        "password: ''",
        "passwordFile: /etc/x",
        "clientSecret: $oidc:clientSecret",
        "client_secret: <path:x#y>",
        "password: string",
        "token: true",
        "# password: swordfish",
        'DEFAULT_PASSWORD = "zabbix"',
        "automountServiceAccountToken: false",
        "password=$(cat /run/x)",
        "passwordPolicy: strong",
        "clientSecret:\n  name: oidc\n",
    ],
)
def test_a_config_map_that_leads_to_one_is_not(text: str) -> None:
    assert found(PASSWORDS, config(text)) == []


def test_a_key_that_is_called_password_is_one() -> None:
    assert len(found(PASSWORDS, config("swordfish", key="admin-password"))) == 1
    assert found(PASSWORDS, config("swordfish", key="admin-password-policy")) == []


def test_a_kubeconfig_with_its_key_is_found() -> None:
    text = "users:\n- name: admin\n  user:\n    client-key-" + f"data: {BODY}\n"
    (problem,) = found(KUBECONFIGS, config(text))
    assert BODY not in problem.message
    assert problem.secret
    assert found(KUBECONFIGS, config(text.replace(BODY, "(base64)"))) == []
    assert found(KUBECONFIGS, config("users: [{user: {tokenFile: /var/run/x}}]")) == []


def test_descriptions_in_definitions_are_no_leaks() -> None:
    crd = manifest("CustomResourceDefinition", spec={"description": PEM.format("") + BODY})
    assert found(LEAKS, crd) == []
