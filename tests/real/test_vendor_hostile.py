"""What comes broken off, lies, or stands damaged: nothing of it may be locked, written or overlooked."""

import signal
import subprocess
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from chartshop import CONFIG_MAP, Shop, locked_with
from chartworld import World, component, release
from ports import free_port
from vendoring import DEFINITION

pytestmark = pytest.mark.real

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'x.example.org/a:1'}]}\n"
FILE = "overlays/one/toy/upstream/configmap-toy.yaml"


@pytest.fixture
def standing(world: World, shop: Shop) -> World:
    """A repository with one chart vendored and committed."""
    shop.add()
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    world.commit()
    return world


def half(handler: BaseHTTPRequestHandler) -> bool:
    """Break off a manifest at the border of two documents."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(2 * len(MAP) + 4))
    handler.end_headers()
    handler.wfile.write(MAP.encode())
    handler.close_connection = True
    return True


@pytest.mark.parametrize("space", ["../-x", "../../../../../clusters/one/cluster"])
def test_no_object_chooses_where_its_file_goes(world: World, shop: Shop, space: str) -> None:
    other = MAP.replace("name: a", f'name: a, namespace: "{space}"')
    shop.files["/a.yaml"] = f"{MAP}---\n{other}".encode()
    world.installs(component(manifests=(f"{shop.url}/a.yaml",)))
    before = world.tree()
    said = world.gen("vendor", expect=1)
    assert f"ConfigMap a without a usable namespace: {space!r}" in said
    assert world.tree() == before


def test_a_manifest_that_broke_off_is_not_locked(world: World, shop: Shop) -> None:
    shop.other = half
    world.installs(component(manifests=(f"{shop.url}/a.yaml",)))
    assert f"of {2 * len(MAP) + 4} bytes only {len(MAP)} came" in world.gen("vendor", expect=1)
    assert not (world.root / "gen.lock").exists()


@pytest.mark.parametrize("content", ["", "# nothing\n---\n", "kind: List\nitems: []\n"])
def test_a_manifest_without_an_object_is_refused(world: World, shop: Shop, content: str) -> None:
    shop.files["/a.yaml"] = content.encode()
    world.installs(component(manifests=(f"{shop.url}/a.yaml",)))
    assert "there is no object in it" in world.gen("vendor", expect=1)
    assert not (world.root / "gen.lock").exists()


def test_a_chart_without_an_object_is_refused(standing: World, shop: Shop) -> None:
    shop.add(version="2.0.0", files={})
    standing.installs(component(release(shop.url, version="2.0.0")))
    before = standing.tree()
    assert "chart toy 2.0.0: there is no object in it" in standing.gen("vendor", expect=1)
    assert standing.tree() == before


def test_crds_that_another_cluster_holds_are_not_told_as_removed(
    tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path, monkeypatch, ("one", "two"))
    shop.add(files={"crds/one.yaml": DEFINITION, "templates/a.yaml": MAP})
    world.installs(component(release(shop.url)), on=("one", "two"))
    world.gen("vendor")
    said = world.gen("vendor", "toy", "--cluster", "one")
    assert "CustomResourceDefinition" not in said
    assert "nothing to change" in said


@pytest.mark.parametrize(
    "path", [FILE, *(f"overlays/one/toy/upstream/{name}" for name in ("kustomization.yaml", "found.json"))]
)
@pytest.mark.parametrize("damage", ["gone", "conflict"])
def test_a_damaged_folder_is_done_anew_unasked(standing: World, path: str, damage: str) -> None:
    before, file = standing.tree(), standing.root / path
    if damage == "gone":
        file.unlink()
    else:
        text = file.read_text()
        file.write_text(f"<<<<<<< HEAD\n{text}=======\n{text}>>>>>>> other\n")
    standing.commit()
    assert "next: gen vendor toy" in standing.gen("vendor", "--check", expect=1)
    assert "one/toy: 1 object, cached" in standing.gen("vendor")
    assert standing.tree() == before


@pytest.mark.parametrize("damage", ["gone", "conflict"])
def test_what_was_found_is_read_from_the_objects_where_its_file_is_damaged(
    world: World, shop: Shop, damage: str
) -> None:
    """No image is told as new that stands there: a new one among them would be overlooked."""
    shop.add(files={"templates/a.yaml": POD})
    world.installs(component(release(shop.url)))
    world.gen("vendor")
    file = world.root / "overlays/one/toy/upstream/found.json"
    if damage == "gone":
        file.unlink()
    else:
        file.write_text(f"<<<<<<< HEAD\n{file.read_text()}=======\n>>>>>>> other\n")
    world.commit()
    said = world.gen("vendor")
    assert "one/toy: 1 object, cached" in said
    assert "image x.example.org" not in said


def test_a_value_that_a_person_changed_is_asked_about_although_inputs_are_the_same(standing: World) -> None:
    standing.edit(FILE, "plain", "by hand")
    standing.commit()
    assert f"{FILE}:8: was changed by hand" in standing.gen("vendor", expect=1)
    standing.gen("vendor", "--discard", str(standing.root / FILE))
    assert standing.upstream()["configmap-toy.yaml"]["data"] == {"text": "plain"}


def test_what_gen_itself_left_is_no_hand_edit(standing: World, shop: Shop) -> None:
    shop.add(version="2.0.0", files={"templates/a.yaml": MAP})
    standing.installs(component(release(shop.url, version="2.0.0")))
    standing.gen("vendor")
    # The new file stays: Git does not know it.
    standing.git("checkout", "-q", ".")
    standing.installs(component(release(shop.url, values={"text": "new"})))
    standing.gen("vendor")
    assert standing.upstream().keys() == {"configmap-toy.yaml"}


def test_what_the_lock_lost_is_locked_again(standing: World) -> None:
    before = standing.tree()
    standing.edit("gen.lock", "charts:", "chartsGone:")
    lines = (standing.root / "gen.lock").read_text().splitlines(keepends=True)
    standing.put("gen.lock", "".join(line for line in lines if "toy" not in line and "chartsGone" not in line))
    standing.commit()
    said = standing.gen("vendor", "--check", expect=1)
    assert "is not in gen.lock yet" in said
    assert "one/toy: 1 object, 1 pulled" in standing.gen("vendor")
    assert standing.tree() == before
    standing.gen("vendor", "--check")


def test_update_and_offline_do_not_go_together(standing: World) -> None:
    said = standing.gen("vendor", "--update", "toy", "--offline", expect=1)
    assert "--update asks for it anew, and --offline forbids to fetch it" in said
    assert "does not name" not in said


def test_a_login_page_is_told_once_and_never_offered_to_be_locked(world: World, shop: Shop) -> None:
    page = b"<!DOCTYPE html><html><body>log in</body></html>"
    shop.files |= {f"/m/example.invalid/{name}.yaml": page for name in "ab"}
    world.installs(
        component(manifests=("https://example.invalid/a.yaml",)),
        component(manifests=("https://example.invalid/b.yaml",), name="kite"),
    )
    world.edit("clusters/one/cluster.yaml", "  site:\n", f"  site:\n    manifests: {shop.url}/m\n")
    said = world.gen("vendor", expect=1)
    assert f"manifest {shop.url}/m/example.invalid/" in said
    assert said.count("what came is a web page") == 1
    assert "one/toy, one/kite: " in said
    assert "site.manifests" in said
    assert "--update" not in said


def test_one_dead_server_is_one_line_for_all_its_components(world: World) -> None:
    url, names = f"http://127.0.0.1:{free_port()}", ["toy", "kite", "bear"]
    world.installs(*(component(release(url, name), name=name) for name in names))
    said = world.gen("vendor", expect=1)
    assert said.count("connection refused") == 1
    assert "one/toy, one/kite, one/bear: " in said
    assert "one/kite: failed" in said
    assert "0 objects" not in said


def test_an_index_that_is_not_there_is_one_line(world: World, shop: Shop) -> None:
    world.installs(*(component(release(shop.url, name), name=name) for name in ("toy", "kite")))
    said = world.gen("vendor", expect=1)
    assert said.count("404 Not Found") == 1
    assert "one/toy, one/kite: " in said


def test_a_dead_proxy_is_named_and_its_password_is_not(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("HTTP_PROXY", f"http://ann:horsehorse@127.0.0.1:{port}")
    monkeypatch.setenv("http_proxy", f"http://ann:horsehorse@127.0.0.1:{port}")
    world.installs(
        component(release("http://charts.example.invalid"), manifests=("http://files.example.invalid/a.yaml",))
    )
    said = world.gen("vendor", expect=1)
    assert said.count(f"(through the proxy 127.0.0.1:{port})") == 2
    assert "site.manifests" in said
    assert "site.charts" in said
    assert "horsehorse" not in said


@pytest.mark.parametrize("path", ["/etc", "..", "overlays/../..", "."])
def test_discard_stays_inside_the_repository(standing: World, path: str) -> None:
    assert f"--discard {path}: " in standing.gen("vendor", "--discard", path, expect=2)


@pytest.mark.parametrize("how", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_asked_to_end_takes_helm_and_its_passwords_along(
    world: World, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    word, homes = "horse" * 4, tmp_path / "homes"
    homes.mkdir()
    monkeypatch.setenv("TMPDIR", str(homes))
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login ann password {word}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    shop.add()
    begun: list[float] = []

    def slow(handler: BaseHTTPRequestHandler) -> bool:
        begun.append(time.monotonic())
        if locked_with("ann", word)(handler):
            return True
        time.sleep(8)
        return False

    shop.other = slow
    world.installs(component(release(shop.url)))
    process = world.start("vendor")
    while not begun and process.poll() is None:
        time.sleep(0.05)
    assert [word in path.read_text() for path in homes.glob("gen-helm-*/repositories.yaml")] == [True]
    process.send_signal(how)
    said = process.communicate(timeout=20)[0]
    assert time.monotonic() - begun[0] < 6
    assert (process.returncode, said.strip()) == (128 + how, "gen: stopped")
    assert not list(homes.iterdir())
    assert not (world.root / "gen.lock").exists()


def test_a_merge_that_met_in_vendored_files_is_settled_by_vendoring_anew(standing: World, shop: Shop) -> None:
    shop.add(files={"templates/map.yaml": CONFIG_MAP + "  more: {{ .Values.more | quote }}\n"})
    both = {"text": "ours", "more": "theirs"}
    branches = {"ours": {"text": "ours", "more": "x"}, "theirs": {"text": "z", "more": "theirs"}}
    standing.installs(component(release(shop.url, values={"text": "plain", "more": "x"})))
    standing.gen("vendor", "--update", "toy")
    standing.commit()
    for name, values in branches.items():
        standing.git("checkout", "-q", "-b", name, "main")
        standing.installs(component(release(shop.url, values=values)))
        standing.gen("vendor")
        standing.commit()
    with pytest.raises(subprocess.CalledProcessError):
        standing.git("merge", "ours")
    assert "<<<<<<<" in (standing.root / FILE).read_text()
    standing.installs(component(release(shop.url, values=both)))
    standing.gen("vendor")
    assert standing.upstream()["configmap-toy.yaml"]["data"] == both
