"""Where charts come from: repositories and registries that need a CA or a password, fail, or lie."""

import json
import re
import socket
import ssl
import struct
import subprocess
import time
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from chartshop import Answer, Front, Shop, locked_with, packaged, serving
from chartworld import World, component, need, release
from ports import free_port

from generator.components.component import HELM, Component
from generator.upstream.charts import digest

pytestmark = pytest.mark.real

REGISTRY = "v3.0.0"


def certificate(folder: Path) -> Path:
    """Make a certificate for loopback that signs itself, with its key beside it."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", "key.pem", "-out", "ca.pem", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder / "ca.pem"


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def tls(ca: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(ca, ca.with_name("key.pem"))
    return context


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[int]:
    """A real OCI registry, plain, on loopback; its port."""
    port = free_port()
    config = tmp_path / "registry.yaml"
    config.write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {tmp_path}/blobs}}}}\n"
        f"http: {{addr: 127.0.0.1:{port}}}\n"
    )
    env = {"PATH": "/usr/bin:/bin", "OTEL_TRACES_EXPORTER": "none"}
    with (tmp_path / "registry.log").open("w") as log:
        process = subprocess.Popen([need("registry", REGISTRY), "serve", config], env=env, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end and not _listens(port):
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=1):
            return True
    except OSError:
        return False


def pushed(port: int, folder: Path, content: bytes) -> None:
    """Push a chart as its publisher does."""
    file = folder / "toy-1.0.0.tgz"
    file.write_bytes(content)
    subprocess.run(
        [need("helm", HELM), "push", file, f"oci://127.0.0.1:{port}/charts", "--plain-http"],
        env={"HOME": str(folder)}, check=True, capture_output=True,
    )  # fmt: skip


def status(code: int) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> bool:
        if handler.path == "/index.yaml":
            return False
        handler.send_response(code)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return True

    return answer


def cut(handler: BaseHTTPRequestHandler) -> bool:
    """Send half of a chart as if it were the whole."""
    if handler.path == "/index.yaml":
        return False
    content = packaged()
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(content[: len(content) // 2])
    return True


def short(handler: BaseHTTPRequestHandler) -> bool:
    """Promise more than what comes."""
    if handler.path == "/index.yaml":
        return False
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(packaged()) + 100))
    handler.end_headers()
    handler.wfile.write(packaged())
    handler.close_connection = True
    return True


def reset(handler: BaseHTTPRequestHandler) -> bool:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    return True


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (status(500), "500 Internal Server Error"),
        (status(404), "404 Not Found"),
        (status(403), "403 Forbidden"),
        (cut, "what came is no whole chart: "),
        (short, "unexpected EOF"),
        (reset, "connection reset by peer"),
    ],
    ids=["500", "404", "403", "cut", "short", "reset"],
)
def test_a_broken_download_locks_nothing(world: World, shop: Shop, answer: Answer, words: str) -> None:
    shop.add()
    shop.other = answer
    world.installs(component(release(shop.url)))
    said = world.gen("vendor", expect=1)
    assert words in said
    assert f"one/toy: chart toy 1.0.0 from {shop.url}: " in said
    assert "   fix: " in said
    assert not (world.root / "gen.lock").exists()
    assert not (world.cache / "gen" / "charts").exists()
    shop.other = lambda _: False
    world.gen("vendor")


def test_a_version_or_chart_that_is_not_there(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url, version="9.0.0")), component(release(shop.url, "bear"), name="bear"))
    said = world.gen("vendor", expect=1)
    assert "no chart version found for toy-9.0.0" in said
    assert "no chart name found" in said
    assert said.count("fix: check the version, and whether the repository or mirror has it") == 2


def test_a_server_that_is_away(world: World) -> None:
    world.installs(component(release(f"http://127.0.0.1:{free_port()}")))
    said = world.gen("vendor", expect=1)
    assert "connection refused" in said
    assert "fix: check the network, the proxy (HTTPS_PROXY) or the mirror (site.charts), and run again" in said


def test_a_ca_of_the_site_is_needed_and_given(
    world: World, tls: ssl.SSLContext, ca: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tls)
    with serving(shop):
        shop.add()
        shop.files["/a.yaml"] = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
        world.installs(component(release(shop.url), manifests=(f"{shop.url}/a.yaml",)))
        said = world.gen("vendor", expect=1)
        assert "x509: " in said
        assert "certificate verify failed" in said
        assert said.count("fix: if this site has its own CA, give its certificate: GEN_CHART_CA=FILE") == 2
        monkeypatch.setenv("GEN_CHART_CA", str(ca.with_name("none.pem")))
        assert "GEN_CHART_CA: there is no " in world.gen("vendor", expect=2)
        monkeypatch.setenv("GEN_CHART_CA", str(ca))
        world.gen("vendor")
        assert sorted(world.upstream()) == ["configmap-a.yaml", "configmap-toy.yaml"]


def test_a_ca_of_the_site_does_not_shut_out_the_systems(
    world: World, tls: ssl.SSLContext, ca: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = tmp_path / "system"
    system.mkdir()
    (system / "ca.pem").write_bytes(ca.read_bytes())
    other = certificate(tmp_path)
    monkeypatch.setenv("GEN_CHART_CA", str(other))
    shop = Shop(tls)
    with serving(shop):
        shop.add()
        world.installs(component(release(shop.url)))
        assert "x509: " in world.gen("vendor", expect=1)
        monkeypatch.setenv("SSL_CERT_DIR", str(system))
        world.gen("vendor")


def test_passwords_come_from_netrc_and_are_never_shown(
    world: World, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = "horse" * 4
    shop.add()
    shop.files["/a.yaml"] = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    shop.other = locked_with("ann", word)
    world.installs(component(release(shop.url), manifests=(f"{shop.url}/a.yaml",)))
    said = world.gen("vendor", expect=1)
    assert said.count("401 Unauthorized; so for 1 more") == 1
    assert said.count("fix: give credentials: NETRC=FILE for HTTP, DOCKER_CONFIG=FOLDER for OCI") == 1
    netrc = tmp_path / "netrc"
    monkeypatch.setenv("NETRC", str(netrc))
    netrc.write_text(f"machine 127.0.0.1 login bob password {word}\n")
    said = world.gen("vendor", expect=1)
    assert "401 Unauthorized" in said
    assert word not in said
    netrc.write_text(f"machine 127.0.0.1 login ann password {word}\n")
    assert word not in world.gen("vendor")
    assert not any(word.encode() in content for content in world.tree().values())
    netrc.write_text("no netrc\n")
    assert "NETRC: " in world.gen("vendor", "--update", "toy", expect=2)


def test_helm_gets_no_password_on_its_command_line_and_nothing_of_the_user(
    world: World, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word, seen = "horse" * 4, tmp_path / "seen"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\necho "$@" >> {seen}\nset >> {seen}\nexec {need("helm", HELM)} "$@"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("GEN_HELM", str(spy))
    for name in ("KUBECONFIG", "HELM_NAMESPACE"):
        monkeypatch.setenv(name, "of the user")
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login ann password {word}\n")
    monkeypatch.setenv("NETRC", str(netrc))
    shop.add()
    shop.other = locked_with("ann", word)
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    assert "pull r/toy" in seen.read_text()
    assert "template toy" in seen.read_text()
    assert word not in seen.read_text()
    assert not {"KUBECONFIG", "HELM_NAMESPACE", "NETRC"} & set(re.findall(r"^(\w+)=", seen.read_text(), re.MULTILINE))


def test_a_password_in_an_address_is_refused(world: World, shop: Shop) -> None:
    shop.add()
    world.installs(component(release(shop.url.replace("://", "://ann:horsehorse@"))))
    said = world.gen("vendor", expect=1)
    assert "the address of its repository holds a password, which Git would keep" in said
    assert "horsehorse" not in said


def test_a_mirror_has_the_same_digest_and_the_lock_names_the_origin(world: World, shop: Shop) -> None:
    made = shop.add()
    shop.files["/m/example.invalid/a.yaml"] = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    origin = "https://charts.example.invalid"
    world.installs(component(release(origin), manifests=("https://example.invalid/a.yaml",)))
    world.edit(
        "clusters/one/cluster.yaml", "  site:\n", f"  site:\n    charts: {shop.url}\n    manifests: {shop.url}/m\n"
    )
    world.gen("vendor")
    assert world.lock()["charts"] == {f"{origin}/toy:1.0.0": made}
    assert list(world.lock()["manifests"]) == ["https://example.invalid/a.yaml"]
    assert set(shop.asked) == {
        "/index.yaml", "/toy-1.0.0.tgz", "/m/example.invalid/a.yaml",
    }  # fmt: skip


def test_two_mirrors_that_differ_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path, monkeypatch, ("one", "two"))
    first, second = Shop(), Shop()
    with serving(first), serving(second):
        one, other = first.add(), second.add(values="text: other\n")
        world.installs(component(release("https://charts.example.invalid")), on=("one", "two"))
        for cluster, shop in (("one", first), ("two", second)):
            world.edit(f"clusters/{cluster}/cluster.yaml", "  site:\n", f"  site:\n    charts: {shop.url}\n")
        said = world.gen("vendor", expect=1)
        assert one in said
        assert other in said
        assert not (world.root / "gen.lock").exists()


def oci(port: int, version: str = "1.0.0") -> Component:
    return component(release(f"oci://127.0.0.1:{port}/charts", version=version))


def test_a_registry_with_a_ca_and_a_password(  # noqa: PLR0913, PLR0917 - fixtures
    world: World, registry: int, tls: ssl.SSLContext, ca: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = packaged()
    pushed(registry, tmp_path, content)
    front, word = Front(tls, registry), "horse" * 4
    front.other = locked_with("ann", word)
    logins = tmp_path / "logins"
    logins.mkdir()

    def log_in(user: str) -> None:
        auth = b64encode(f"{user}:{word}".encode()).decode()
        (logins / "config.json").write_text(
            json.dumps({"auths": {f"127.0.0.1:{front.server_address[1]}": {"auth": auth}}})
        )

    with serving(front):
        world.installs(oci(front.server_address[1]))
        assert "x509: " in world.gen("vendor", expect=1)
        monkeypatch.setenv("GEN_CHART_CA", str(ca))
        said = world.gen("vendor", expect=1)
        assert "basic credential not found" in said
        assert "DOCKER_CONFIG=FOLDER" in said
        monkeypatch.setenv("DOCKER_CONFIG", str(logins))
        log_in("bob")
        said = world.gen("vendor", expect=1)
        assert word not in said
        log_in("ann")
        world.gen("vendor")
        # The lock holds the archive's digest, which the registry's manifest only names.
        assert list(world.lock()["charts"].values()) == [digest(content)]
        world.installs(oci(front.server_address[1], "9.0.0"))
        said = world.gen("vendor", expect=1)
        assert "not found" in said
    world.installs(oci(front.server_address[1]))
    assert "nothing to change" in world.gen("vendor", "--offline")


def test_a_registry_whose_password_a_helper_knows(  # noqa: PLR0913, PLR0917 - fixtures
    world: World, registry: int, tls: ssl.SSLContext, ca: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(registry, tmp_path, packaged())
    front, word = Front(tls, registry), "horse" * 4
    front.other = locked_with("ann", word)
    (tmp_path / "config.json").write_text(json.dumps({"credsStore": "shop"}))
    helper = tmp_path / "docker-credential-shop"
    for name, value in (("GEN_CHART_CA", str(ca)), ("DOCKER_CONFIG", str(tmp_path))):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with serving(front):
        world.installs(oci(front.server_address[1]))
        helper.write_text("#!/bin/sh\necho the vault is closed\nexit 1\n")
        helper.chmod(0o755)
        said = world.gen("vendor", expect=1)
        assert "`docker-credential-shop`, which config.json names, gave no credentials: the vault is closed" in said
        helper.write_text(f"#!/bin/sh\necho '{json.dumps({'Username': 'ann', 'Secret': word})}'\n")
        world.gen("vendor")
    assert world.upstream()


def test_the_same_chart_from_a_registry_as_mirror(  # noqa: PLR0913, PLR0917 - fixtures
    world: World,
    registry: int,
    tls: ssl.SSLContext,
    ca: Path,
    shop: Shop,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = shop.add()
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    before = world.upstream()
    pushed(registry, tmp_path, shop.files["/toy-1.0.0.tgz"])
    front = Front(tls, registry)
    monkeypatch.setenv("GEN_CHART_CA", str(ca))
    with serving(front):
        for file in (world.cache / "gen" / "charts").iterdir():
            file.unlink()
        address = f"oci://127.0.0.1:{front.server_address[1]}/charts"
        world.edit("clusters/one/cluster.yaml", "  site:\n", f"  site:\n    charts: {address}\n")
        asked = list(shop.asked)
        assert "1 pulled" in world.gen("vendor", "toy")
        assert shop.asked == asked
    assert world.lock()["charts"] == {f"{shop.url}/toy:1.0.0": made}
    assert world.upstream() == before


def test_inflating_equal_inputs_of_two_clusters_happens_once(
    tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, ("one", "two", "three"))
    seen, spy = tmp_path / "seen", tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\necho "$1" >> {seen}\nexec {need("helm", HELM)} "$@"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("GEN_HELM", str(spy))
    shop.add()
    world.installs(component(release(shop.url)), on=("one", "two"))
    world.installs(component(release(shop.url, values={"text": "x"})), on=("three",))
    world.gen("vendor")
    assert sorted(seen.read_text().split()) == [
        "pull",
        "repo",
        "template",
        "template",
        "template",
        "template",
        "version",
    ]
