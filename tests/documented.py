"""What the documentation tells people to run, so that tests run just that."""

import re
from typing import Any

import yaml
from reference import ROOT


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page of `docs/` in one language, in their order."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def of_teams() -> dict[str, dict[str, Any]]:
    """Return the manifests that teams are told to write."""
    return dict(
        zip(("a gang", "without GPUs", "a service"), map(yaml.safe_load, blocks("teams.md", "yaml")), strict=True)
    )
