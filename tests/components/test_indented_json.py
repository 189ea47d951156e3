"""JSON for people is what Python's own module writes."""

import json

from generator.components.indented_json import indented_json


def test_it_is_written_as_python_writes_it() -> None:
    value = {
        "b": ["ü", "\u2028", '"\\/\n', [], {}, [[1]], {"a": None}],
        "a": [1.0, 1e30, 2**70, True, -0.0, 1e-7],
        "": "",
    }
    assert all(indented_json(value, indent) == json.dumps(value, indent=indent) for indent in (1, 2))
