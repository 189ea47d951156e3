"""What registries answer, and what they answer when something is wrong."""

import base64
import hashlib
import json
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from generator.errors import UsageError
from generator.upstream import registry as client
from generator.upstream.registry import ImageAnswer, ask

INDEX = "application/vnd.oci.image.index.v1+json"
WORDS = base64.b64encode(b"robot:secret").decode()


def digest(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def manifest(*sizes: int) -> bytes:
    return json.dumps({"schemaVersion": 2, "layers": [{"size": size} for size in sizes]}).encode()


def index(**children: bytes) -> bytes:
    entries = [
        {"digest": digest(body), "platform": {"os": "linux", "architecture": name}} for name, body in children.items()
    ]
    return json.dumps({"mediaType": INDEX, "manifests": entries}).encode()


class Fake(ThreadingHTTPServer):
    """A registry that holds `manifests` by repository and mark; `how` is what it does wrong, or wants."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.manifests: dict[tuple[str, str], bytes] = {}
        self.how = ""
        self.seen: list[tuple[str, str, str]] = []
        self.host = f"127.0.0.1:{self.server_address[1]}"

    def push(self, repository: str, tag: str, body: bytes) -> None:
        self.manifests[repository, tag] = self.manifests[repository, digest(body)] = body


class Handler(BaseHTTPRequestHandler):
    server: Fake

    def log_message(self, *_: Any) -> None: ...

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        given = self.headers.get("Authorization", "")
        self.server.seen.append((self.command, self.path, given))
        how = self.server.how
        if self.path.startswith("/token"):
            good = how != "private" or given == f"Basic {WORDS}"
            self.answer(200 if good else 401, json.dumps({"token": "t"} if how != "empty token" else {}).encode())
        elif how in {"token", "private", "empty token", "far realm"} and given != "Bearer t":
            place = "http://auth.example.org" if how == "far realm" else f"http://{self.server.host}"
            realm = f'Bearer realm="{place}/token?x=y",service="s",scope="repository:a/b:pull"'
            self.answer(401, b"{}", {"WWW-Authenticate": realm})
        elif how in {"basic", "redirect"} and given != f"Basic {WORDS}" and "moved" not in self.path:
            self.answer(401, b"{}", {"WWW-Authenticate": 'Basic realm="x"'})
        elif how == "redirect" and "moved" not in self.path:
            self.answer(307, b"", {"Location": f"http://localhost:{self.server.server_address[1]}/moved{self.path}"})
        elif how.isdigit():
            self.answer(int(how), b"{}")
        elif how == "slow":
            self.drip()
        else:
            self.manifest(how)

    def manifest(self, how: str) -> None:
        _, _, rest = self.path.partition("/v2/")
        repository, _, mark = rest.partition("/manifests/")
        body = self.server.manifests.get((repository, mark))
        if how == "page":
            body = b"<html>"
        if how == "other" and body:
            body += b" "
        if how == "long":
            body = b"x" * (5 << 20)
        headers = {} if how == "no digest" or body is None else {"Docker-Content-Digest": digest(body)}
        self.answer(404 if body is None else 200, body or b"{}", headers)

    def drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(600):
            self.wfile.write(b" ")
            time.sleep(0.1)

    def answer(self, code: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Fake]:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
    monkeypatch.delenv("GEN_REGISTRY_CA", raising=False)
    with Fake() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


BODY = manifest(10, 20)


def asked(registry: Fake, mark: str = ":1", *, sizes: bool = False, seconds: float = 5) -> ImageAnswer:
    reference = f"{registry.host}/a/b{mark}"
    return ask([reference], sizes=sizes, seconds=seconds)[reference]


def test_a_digest_is_asked_for_without_pulling(registry: Fake) -> None:
    registry.push("a/b", "1", BODY)
    assert asked(registry) == ImageAnswer(digest(BODY))
    assert [method for method, _, _ in registry.seen] == ["HEAD"]


def test_a_registry_that_sends_no_digest_is_asked_for_the_bytes(registry: Fake) -> None:
    registry.push("a/b", "1", BODY)
    registry.how = "no digest"
    assert asked(registry) == ImageAnswer(digest(BODY))


def test_the_size_is_that_of_the_layers_on_amd64(registry: Fake) -> None:
    arm = manifest(1000)
    whole = index(arm64=arm, amd64=BODY)
    for tag, body in {"1": whole, "arm": arm, "amd": BODY}.items():
        registry.push("a/b", tag, body)
    assert asked(registry, sizes=True) == ImageAnswer(digest(whole), 30)
    assert asked(registry, ":amd", sizes=True) == ImageAnswer(digest(BODY), 30)
    assert asked(registry, f"@{digest(BODY)}", sizes=True) == ImageAnswer(digest(BODY), 30)
    registry.push("a/b", "2", index(arm64=arm))
    assert asked(registry, ":2", sizes=True) == ImageAnswer(error="there is no linux/amd64 in it")


def test_one_that_fails_leaves_the_others(registry: Fake) -> None:
    registry.push("a/b", "1", BODY)
    heard: list[str] = []
    names = [f"{registry.host}/a/b:1", f"{registry.host}/a/b:2", "127.0.0.1:1/a/b:1"]
    found = ask([*names, *names], sizes=False, told=lambda name, _: heard.append(name))
    assert [found[name].digest for name in names] == [digest(BODY), "", ""]
    assert found[names[1]].error == f"{registry.host} does not have it"
    assert found[names[2]].error == "127.0.0.1:1 cannot be asked: [Errno 111] Connection refused"
    assert sorted(heard) == sorted(names)


def test_a_registry_out_of_reach_is_asked_once_and_the_proxy_is_named(
    registry: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not asked(registry, ":none").unreachable
    tried: list[str] = []
    words_of = client._words_of

    def counted(error: Exception, host: str) -> str:
        tried.append(host)
        return words_of(error, host)

    monkeypatch.setattr(client, "_words_of", counted)
    names = [f"127.0.0.1:1/a/b:{number}" for number in range(50)]
    answers = set(ask(names, sizes=False).values())
    assert len(tried) <= client.AT_ONCE
    assert answers == {
        ImageAnswer(error="127.0.0.1:1 cannot be asked: [Errno 111] Connection refused", unreachable=True)
    }
    monkeypatch.setenv("https_proxy", "http://user:word@127.0.0.1:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:word@127.0.0.1:1")
    (answer,) = ask(["registry.example.org/a:1"], sizes=False).values()
    told = "registry.example.org cannot be asked through the proxy 127.0.0.1:1: [Errno 111] Connection refused"
    assert answer == ImageAnswer(error=told, unreachable=True)


@pytest.mark.parametrize("sizes", [False, True])
def test_a_token_is_fetched_once_for_each_repository(registry: Fake, *, sizes: bool) -> None:
    registry.push("a/b", "1", BODY)
    registry.how = "token"
    assert asked(registry, sizes=sizes).digest == digest(BODY)
    (path,) = [path for _, path, _ in registry.seen if path.startswith("/token")]
    assert parse_qs(urlsplit(path).query) == {"x": ["y"], "service": ["s"], "scope": ["repository:a/b:pull"]}


@pytest.mark.parametrize("how", ["private", "basic"])
@pytest.mark.parametrize("entry", [{"auth": WORDS}, {"username": "robot", "password": "secret"}])
def test_dockers_credentials_are_used(registry: Fake, tmp_path: Path, how: str, entry: dict[str, str]) -> None:
    registry.push("a/b", "1", BODY)
    registry.how = how
    refused = asked(registry)
    assert not refused.digest
    assert f"docker login {registry.host}" in refused.error
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: entry}}))
    assert asked(registry) == ImageAnswer(digest(BODY))


@pytest.mark.parametrize("how", ["private", "basic"])
def test_a_helper_without_credentials_is_named_where_they_were_wanted(registry: Fake, tmp_path: Path, how: str) -> None:
    registry.push("a/b", "1", BODY)
    (tmp_path / "config.json").write_text(json.dumps({"credsStore": "made-up"}))
    assert asked(registry) == ImageAnswer(digest(BODY))
    registry.how = how
    assert "docker login" in asked(registry).error
    assert "`docker-credential-made-up`, which config.json names, gave no credentials: " in asked(registry).error


def test_wrong_credentials_are_told_without_repeating_them(registry: Fake, tmp_path: Path) -> None:
    registry.how = "private"
    wrong = base64.b64encode(b"robot:wrong").decode()
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": wrong}}}))
    error = asked(registry).error
    assert "wants other credentials" in error
    assert wrong not in error


def test_credentials_do_not_follow_to_another_host(registry: Fake, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": WORDS}}}))
    registry.how = "far realm"
    assert asked(registry).error.endswith("sends for a token to http://auth.example.org/token?x=y, which is not https")
    registry.push("a/b", "1", BODY)
    registry.how = "redirect"
    registry.seen.clear()
    assert asked(registry).digest == digest(BODY)
    assert [given for _, path, given in registry.seen if "moved" in path] == [""]


@pytest.mark.parametrize(
    ("how", "sizes", "words"),
    [
        ("403", False, "forbids it"),
        ("429", False, "asked too often"),
        ("500", False, "answers 500 Internal Server Error"),
        ("page", True, "not JSON"),
        ("long", True, "too long"),
        ("empty token", False, "gave no token"),
    ],
)
def test_what_is_wrong_is_told(registry: Fake, how: str, words: str, *, sizes: bool) -> None:
    registry.push("a/b", "1", BODY)
    registry.how = how
    answer = asked(registry, sizes=sizes)
    assert words in answer.error
    assert not answer.digest


def test_other_bytes_than_the_digest_names_are_refused(registry: Fake) -> None:
    registry.push("a/b", "1", BODY)
    registry.how = "other"
    for sizes in (False, True):
        assert "the registry sent sha256:" in asked(registry, f"@{digest(BODY)}", sizes=sizes).error
    registry.manifests.clear()
    whole = index(amd64=BODY)
    registry.manifests["a/b", "1"] = whole
    registry.manifests["a/b", digest(BODY)] = manifest(1)
    registry.how = ""
    assert "the registry sent sha256:" in asked(registry, sizes=True).error


def test_a_registry_that_drips_is_left_in_time(registry: Fake) -> None:
    registry.how = "slow"
    begun = time.monotonic()
    assert asked(registry, sizes=True, seconds=0.5).error == f"{registry.host} did not answer in time"
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"manifests": 1}', b'{"manifests": [1, {}]}', b'{"layers": [1]}'])
def test_any_answer_ends_in_words(registry: Fake, body: bytes) -> None:
    registry.push("a/b", "1", body)
    assert asked(registry, sizes=True).error


@pytest.mark.parametrize("text", ["[]", "{", '{"auths": []}', '{"auths": {"x": 1}}', '{"credHelpers": 1}'])
def test_a_credentials_file_that_is_none_is_told(registry: Fake, tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UsageError, match="is not what `docker login` writes"):
        asked(registry)


def test_only_the_named_ca_is_trusted(registry: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.push("a/b", "1", BODY)
    monkeypatch.setattr("generator.upstream.registry._is_here", lambda _host: False)
    serve_tls(registry, tmp_path)
    assert asked(registry).error.endswith("name the file of its CA in GEN_REGISTRY_CA")
    monkeypatch.setenv("GEN_REGISTRY_CA", str(tmp_path / "ca.crt"))
    assert asked(registry) == ImageAnswer(digest(BODY))
    (tmp_path / "ca.crt").write_text("no certificate")
    with pytest.raises(UsageError, match=r"GEN_REGISTRY_CA=.*cannot be read as certificates"):
        asked(registry)


def serve_tls(registry: Fake, folder: Path) -> None:
    key = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem -out ca.crt"
    )
    name = "-subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(f"{key} {name}".split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "key.pem")
    registry.socket = context.wrap_socket(registry.socket, server_side=True)
