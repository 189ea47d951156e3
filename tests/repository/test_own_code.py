"""Which gen this is: builds of two commits have one version, and their code tells them apart."""

import subprocess
import sys
from pathlib import Path

import pytest

from generator import __version__
from generator.layout.lock import LockFile, Writer, lock_file, written_by
from generator.repository.own_code import DECIDES, code, this_gen

RECORD = """\
generator/__init__.py,sha256=aa,10
generator/cli/check.py,sha256=bb,20
generator/layout/tree.py,sha256=cc,30
generator/components/dns/corefile.yaml,sha256=dd,40
gen-0.1.0.dist-info/METADATA,sha256=ee,50
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / f"gen-{__version__}.dist-info").mkdir()
    return tmp_path


def digest(site: Path, record: str) -> str:
    (site / f"gen-{__version__}.dist-info/RECORD").write_text(record)
    code.cache_clear()
    return code(str(site))


def test_equal_code_has_one_digest_whoever_installed_it(site: Path) -> None:
    first = digest(site, RECORD)
    compiled = RECORD + "generator/layout/__pycache__/tree.cpython-311.pyc,,\n"
    turned = "".join(reversed(compiled.splitlines(keepends=True))).replace("\n", "\r\n")
    assert first.startswith("sha256:")
    assert digest(site, compiled) == digest(site, turned) == first


def test_code_that_decides_what_is_rendered_makes_another_digest(site: Path) -> None:
    first = digest(site, RECORD)
    assert digest(site, RECORD.replace("=cc", "=ff")) != first
    assert digest(site, RECORD.replace("=dd", "=ff")) != first
    assert digest(site, RECORD.replace("=bb", "=ff").replace("=ee", "=ff")) == first


def test_a_gen_that_runs_from_its_source_has_none(tmp_path: Path) -> None:
    code.cache_clear()
    assert code(str(tmp_path)) == ""
    assert this_gen() == Writer(__version__, "")
    assert list(lock_file(LockFile()).values()) == [
        f'# Written by gen. Commit it and never edit it.\ngen: "{__version__}"\n'.encode()
    ]


def test_the_lock_says_who_wrote_it_also_with_a_conflict_in_it() -> None:
    (content,) = lock_file(LockFile(images={"a:1": "sha256:b"}), "sha256:c").values()
    assert written_by(content) == Writer(__version__, "sha256:c")
    assert written_by(b"<<<<<<< ours\n" + content + b'=======\ngen: "9.9"\n>>>>>>> theirs\n').version == __version__
    assert written_by(b"") == Writer()


def test_what_is_rendered_comes_of_these_packages_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, generator.layout.tree; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    mine = {name.split(".")[1] for name in done.stdout.split() if name.startswith("generator.")}
    assert mine - {"errors"} <= {*DECIDES}
