"""Where CRDs go."""

from generator.upstream.vendored_files import VendoredFolder, folder_files

BASE = "base/toy/1/crds"
CRD = "customresourcedefinition-a.yaml"


def vendored(cluster: str, text: str, *, shared: bool = False, fixed: bool = False) -> VendoredFolder:
    return VendoredFolder(
        cluster=cluster, component="toy", version="1", files={"a.yaml": b"a"}, shared=shared, fixed=fixed,
        definitions={CRD: text.encode()} if text else {},
    )  # fmt: skip


def places(fresh: list[VendoredFolder], standing: list[VendoredFolder]) -> tuple[set[str], set[str]]:
    """Return where CRDs are written, and what is replaced whole."""
    files, folders = folder_files(fresh, standing)
    return {path.removesuffix(f"/{CRD}") for path in files if path.endswith(CRD)}, set(folders)


def own(cluster: str) -> str:
    return f"overlays/{cluster}/toy/upstream"


def test_equal_for_all_goes_to_the_base() -> None:
    assert places([vendored("a", "x"), vendored("b", "x")], []) == ({BASE}, {BASE, own("a"), own("b")})
    assert places([vendored("a", "x")], [vendored("b", "x", shared=True)]) == ({BASE}, {BASE, own("a")})
    assert places([vendored("a", "x")], [vendored("b", "x")]) == ({BASE}, {BASE, own("a"), own("b")})


def test_what_differs_goes_to_each_overlay_and_leaves_the_base() -> None:
    assert places([vendored("a", "x"), vendored("b", "y")], [])[0] == {own("a"), own("b")}
    assert places([vendored("a", "x")], [vendored("b", "y", shared=True)]) == (
        {own("a"), own("b")},
        {BASE, own("a"), own("b")},
    )
    assert places([vendored("a", "")], [vendored("b", "y", shared=True)])[0] == {own("b")}


def test_a_cluster_that_is_not_asked_for_keeps_what_it_has() -> None:
    fixed = vendored("b", "y", shared=True, fixed=True)
    assert places([vendored("a", "x")], [fixed]) == ({own("a")}, {own("a")})
    assert places([vendored("a", "y")], [fixed]) == (set(), {own("a")})
    assert places([vendored("a", "x"), vendored("c", "y")], [fixed]) == ({own("a")}, {own("a"), own("c")})


def test_without_crds_there_is_no_base() -> None:
    assert places([vendored("a", "")], []) == (set(), {BASE, own("a")})
