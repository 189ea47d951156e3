"""PyYAML as it is imported: quicker, and the same."""

import re
import subprocess
import sys

from generator.spec.pyyaml import ALL_BUT, WRITTEN_OUT

IMPORTED = """
import re
compile = re.compile
from generator.spec.pyyaml import yaml
assert re.compile is compile
print(ascii(yaml.reader.Reader.NON_PRINTABLE.pattern))
"""


def printed(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_the_written_out_pattern_means_the_same() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert re.findall(WRITTEN_OUT, every) == re.findall(ALL_BUT, every)


def test_pyyaml_takes_the_written_out_pattern_and_nothing_else_changes() -> None:
    assert printed(IMPORTED) == ascii(WRITTEN_OUT)


def test_pyyaml_itself_still_writes_the_pattern_that_is_swapped() -> None:
    assert printed("import yaml; print(ascii(yaml.reader.Reader.NON_PRINTABLE.pattern))") == ascii(ALL_BUT)
