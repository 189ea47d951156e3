"""PyYAML, without the tenth of a check that its own reader takes when it is imported.

That reader, which is not used here, compiles a pattern of what must not be in YAML: all but some ranges of characters.
Python takes 57 million instructions for it, of 565 million of a whole `gen check`; a fiftieth of that where the same
characters are written out. So the pattern is swapped for its equal while PyYAML is imported. Nothing else changes, for
nobody: where PyYAML has been imported before, or writes another pattern, it is as it comes.
"""

import re
from typing import Any

ALL_BUT = "[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""The pattern as PyYAML writes it."""
WRITTEN_OUT = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
"""The same characters."""

_compile = re.compile


def _compile_quickly(pattern: Any, flags: Any = 0) -> re.Pattern[Any]:
    return _compile(WRITTEN_OUT if pattern == ALL_BUT else pattern, flags)


try:
    re.compile = _compile_quickly
    import yaml as yaml  # noqa: PLC0414 - to be imported from here
finally:
    re.compile = _compile
