"""Steps of operations, by the names under which Argo Workflows looks for them."""

from collections import Counter

import pytest
from reference import load

from generator.components import compose
from generator.components.reports.templates import workflow_templates


@pytest.mark.parametrize("name", ["ml50", "a30-bench", "gpu-serving"])
def test_no_two_templates_of_an_operation_have_one_name(name: str) -> None:
    """Argo takes the first of them: an order of steps that names a step as itself begins itself, without an end."""
    for component in compose(load(name)):
        for made in workflow_templates(component):
            names = Counter(one["name"] for one in made["spec"]["templates"])
            assert not [one for one, count in names.items() if count > 1], made["metadata"]["name"]
