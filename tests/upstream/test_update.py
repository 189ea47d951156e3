"""Moving cluster files to the default versions of the catalogue: forward only."""

from pathlib import Path

import pytest
from msgspec import structs
from reference import ROOT

from generator.components.definition import Version, Versions
from generator.components.kueue import DEFINITION as KUEUE
from generator.repository.cluster_files import load
from generator.upstream import update

FILE = "clusters/ml50/cluster.yaml"
KNOWN = Versions("kueue", tuple(Version(version=one) for one in ("v0.10.2", "v0.11.0", "v0.9.3")))


@pytest.mark.parametrize(("version", "wanted"), [
    ("v0.9.3", ("ml50/kueue: v0.9.3 -> v0.10.2",)),
    ("v0.10.2", ()),
    # The default is not the newest that is known.
    ("v0.11.0", ()),
    # Somebody named one that the catalogue does not know.
    ("v0.9.4", ()),
])  # fmt: skip
def test_a_known_older_version_moves_and_a_newer_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, wanted: tuple[str, ...]
) -> None:
    monkeypatch.setattr(update, "CATALOGUE", {"kueue": structs.replace(KUEUE, versions=KNOWN)})
    text = (ROOT / FILE).read_text()
    assert text.count("\n  components: {}\n") == 1
    (tmp_path / FILE).parent.mkdir(parents=True)
    named = f"\n  components:\n    kueue: {{version: {version}}}\n"
    (tmp_path / FILE).write_text(text.replace("\n  components: {}\n", named))
    assert update.moved(tmp_path, load(tmp_path), ()).told == wanted
