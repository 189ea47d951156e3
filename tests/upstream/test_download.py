"""What is said of downloads that failed."""

import pytest

from generator.model.finding import Finding
from generator.upstream.download import PAGE, refused
from generator.upstream.findings import grouped


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def wrong(
    heard: str, address: str = "https://a.example.org/b", field: str = "site.manifests", name: str = "x"
) -> Finding:
    return refused(name, heard, address, field).finding


@pytest.mark.parametrize(
    ("heard", "words"),
    [
        ("[Errno 111] Connection refused", "the mirror (site.manifests), and run again"),
        ("x509: certificate signed by unknown authority", "GEN_CHART_CA=FILE"),
        ("401 Unauthorized", "give credentials: NETRC=FILE"),
        ("403 Forbidden", "check the rights"),
        ("404 Not Found", "check the version"),
        ("response status code 401: Unauthorized", "give credentials: NETRC=FILE"),
        ('Get "http://127.0.0.1:40123/x.tgz": 404 Not Found', "check the version"),
        ('Get "http://127.0.0.1:14044/x.tgz": EOF', "check the network"),
        (PAGE, "or the mirror (site.manifests)"),
    ],
)
def test_the_fix_fits_the_words(heard: str, words: str) -> None:
    found = wrong(heard)
    assert found.message == f"x: {heard}"
    assert words in found.fix


def test_the_proxy_between_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://ann:word@proxy.example.org:3128/")
    through = "x (through the proxy proxy.example.org:3128): no answer"
    assert wrong("no answer").message == through
    assert wrong("no answer", "oci://a.example.org/b").message == through
    assert wrong("no answer", "http://a.example.org/b").message == "x: no answer"
    monkeypatch.setenv("no_proxy", "example.org")
    assert wrong("no answer").message == "x: no answer"


def test_trouble_with_one_server_is_one_thing() -> None:
    dead, other = "dial tcp 127.0.0.1:1: connect: connection refused", "https://c.example.org/b"
    found = [
        (("one", "a"), wrong(dead, name="chart a")),
        (("one", "b"), wrong(f"Get b: {dead}", name="chart b")),
        (("one", "b"), wrong(dead, other, name="chart c")),
        (("two", "a"), wrong(dead, name="chart a")),
    ]
    assert [(places, each.message.partition(":")[0], more) for places, each, more in grouped(found)] == [
        ([("one", "a"), ("one", "b"), ("two", "a")], "chart a", 1),
        ([("one", "b")], "chart c", 0),
    ]


def test_files_that_are_not_there_and_other_mistakes_stand_for_themselves() -> None:
    missing = [wrong("404 Not Found", f"https://a.example.org/{name}", name=name) for name in "ab"]
    found = [(("one", "a"), each) for each in (*missing, Finding(message="x", fix="y"), Finding(message="z", fix="y"))]
    assert len(grouped(found)) == 4
