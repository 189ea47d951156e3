"""A fleet vendored by the steps of its workflow, with the pinned Helm, charts made by the test, and real Git."""

import http.server
import os
import shutil
import signal
import ssl
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import chartworld
import pytest
from chartshop import CONFIG_MAP, Shop, serving
from chartworld import World
from fleetrun import Run, git
from minioserver import certificates
from vendoring import held, toys

from generator.components.component import HELM

pytestmark = pytest.mark.real
VENDOR = {"HOW": "vendor", "SHARDS": "3"}
"""Of three parts the first has cluster `one`, the last `two`, and the second none."""


@pytest.fixture
def origin(two: World, shop: Shop, tmp_path: Path) -> Path:
    return repository(two, shop, tmp_path)


def repository(two: World, shop: Shop, folder: Path) -> Path:
    """Make the repository at its server."""
    (folder / "spec.json").write_bytes(toys(two, shop))
    server = folder / "server.git"
    git(folder, "clone", "-q", "--bare", str(two.root), str(server))
    return server


def vendoring(folder: Path, origin: Path) -> Run:
    """Return a run whose pods have Helm and those charts' components."""
    made = Run(folder, str(origin), gen=(sys.executable, chartworld.__file__, str(origin.with_name("spec.json"))))
    shutil.copy(chartworld.need("helm", HELM), folder / "bin/helm")
    return made


def at(origin: Path, folder: Path, branch: str) -> Mapping[str, bytes]:
    """Return the files of a branch."""
    git(folder, "clone", "-q", "--branch", branch, str(origin), str(folder / branch))
    return held(folder / branch)


def test_a_run_vendors_what_one_gen_does(origin: Path, two: World, shop: Shop, tmp_path: Path) -> None:
    made = vendoring(tmp_path / "pods", origin)
    asked = len(shop.asked)
    assert made.whole(**VENDOR) == [0] * 9
    assert len(shop.asked) > asked
    assert git(origin, "log", "--format=%s", "main..gen/fleet") == "Vendor all clusters"
    two.gen("vendor")
    assert at(origin, tmp_path, "gen/fleet") == two.tree()
    assert {"overlays/one/toy/upstream", "overlays/two/other/upstream"} <= {
        Path(path).parent.as_posix() for path in two.tree()
    }
    again = vendoring(tmp_path / "again", origin)
    assert again.whole(**VENDOR, BRANCH="gen/fleet") == [0] * 9
    assert git(origin, "log", "--format=%s", "main..gen/fleet") == "Vendor all clusters"


def test_a_part_that_is_killed_while_it_fetches_is_vendored_again(
    origin: Path, two: World, shop: Shop, tmp_path: Path
) -> None:
    made, asked, over = vendoring(tmp_path / "pods", origin), threading.Event(), threading.Event()
    assert made.step("clone").returncode == 0
    for part in "12":
        assert made.step("part", PART=part, **VENDOR).returncode == 0

    def waits(handler: http.server.BaseHTTPRequestHandler) -> bool:
        if handler.path.startswith("/other-"):
            asked.set()
            over.wait(60)
        return False

    shop.other = waits
    process = made.begin("part", PART="3", **VENDOR)
    assert asked.wait(60)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    over.set()
    assert sorted(one.name for one in (made.folder / "work/parts").iterdir()) == ["1-of-3.share", "2-of-3.share"]
    refused = made.step("join", **VENDOR)
    assert (refused.returncode, "3/3 missing" in refused.stderr) == (2, True), refused.stderr
    for name in ("part", "join", "push"):
        assert made.step(name, PART="3", **VENDOR).returncode == 0
    two.gen("vendor")
    assert at(origin, tmp_path, "gen/fleet") == two.tree()


def test_a_chart_that_is_not_the_locked_one_is_a_verdict(origin: Path, two: World, shop: Shop, tmp_path: Path) -> None:
    two.gen("vendor")
    two.commit()
    git(two.root, "push", "-q", str(origin), "main")
    shop.add(files={"templates/map.yaml": CONFIG_MAP.replace("text:", "texts:")})
    spec = origin.with_name("spec.json")
    spec.write_text(spec.read_text().replace('"values":{}', '"values":{"text":"another"}'))
    made = vendoring(tmp_path / "pods", origin)
    assert made.step("clone").returncode == 0
    done = made.step("part", PART="1", **VENDOR)
    assert done.returncode == 2
    assert "gen.lock" in done.stderr
    assert "FAILED: gen vendor: see above" in done.stderr
    assert not [*(made.folder / "work/parts").glob("*.share")]


def test_charts_behind_a_ca_of_the_site_are_fetched(two: World, tmp_path: Path) -> None:
    signed = certificates(tmp_path / "signed")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(signed / "public.crt", signed / "private.key")
    with serving(shop := Shop(tls)):
        made = vendoring(tmp_path / "pods", repository(two, shop, tmp_path))
        assert made.step("clone").returncode == 0
        refused = made.step("part", PART="1", **VENDOR)
        assert (refused.returncode, "certificate" in refused.stderr) == (2, True), refused.stderr
        (made.folder / "ca.crt").write_bytes((signed / "CAs/ca.crt").read_bytes())
        assert made.step("part", PART="1", **VENDOR).returncode == 0
