"""What `gen init` writes: a first cluster file, and what keeps other tools from changing generated files."""

from collections.abc import Mapping
from pathlib import Path

SCHEMA = "schemas/cluster.schema.json"
"""Where cluster files say that their schema is."""

# Folders whose files nobody formats or edits by hand; `custom/` below them is the user's.
GENERATED = ("base/**", "clusters/*/argocd/**", "clusters/*/bootstrap/**", "overlays/**", "workflows/**", "schemas/**")

ATTRIBUTES = (
    "# Line endings are part of scripts inside ConfigMaps: never converted. Generated files are folded in reviews.\n"
    "* text=auto eol=lf\n"
    + "".join(f"{pattern} linguist-generated=true\n" for pattern in GENERATED)
    + "**/custom/** linguist-generated=false\n"
    "clusters/*/cluster.yaml linguist-generated=false\n"
)
EDITORCONFIG = """\
root = true

[*]
end_of_line = lf
charset = utf-8
insert_final_newline = true

[*.{yaml,yml}]
indent_style = space
indent_size = 2

# Generated: an editor that trims blanks would change the content of block scalars.
[{base,overlays,workflows}/**]
trim_trailing_whitespace = false
insert_final_newline = unset
"""
PRETTIERIGNORE = "# Generated: formatters rewrite quotes and block scalars.\n" + "".join(
    f"{pattern}\n" for pattern in GENERATED
)
RENOVATE = """\
{
  "$schema": "https://docs.renovatebot.com/renovate-schema.json",
  "description": "Versions are chosen in the cluster files and by gen: generated folders are not Renovate's.",
  "ignorePaths": ["base/**", "clusters/*/argocd/**", "clusters/*/bootstrap/**", "overlays/**", "workflows/**"]
}
"""
YAMLLINT = "ignore: |\n" + "".join(f"  {pattern}\n" for pattern in GENERATED)


def scaffold() -> Mapping[str, bytes]:
    """Return the files that a repository gets once, whatever its clusters."""
    texts = {
        ".gitattributes": ATTRIBUTES,
        ".gitignore": "# What a render that was killed may leave; the next one removes it.\n.gen-*~\n",
        ".editorconfig": EDITORCONFIG,
        ".prettierignore": PRETTIERIGNORE,
        ".yamllint": YAMLLINT,
        "renovate.json": RENOVATE,
    }
    return {path: text.encode() for path, text in texts.items()}


def starter(name: str, others: str = "") -> bytes:
    """Return a commented cluster file that is valid as it stands, for the user to change. `others` is the text of the
    files that there are: its node network is one that they do not name.
    """
    text = Path(__file__).with_name("starter.yaml").read_text(encoding="utf-8")
    # From 96 on there are the service networks.
    free = next((number for number in range(10, 96) if f"10.{number}." not in others), 10)
    return text.replace("CLUSTER", name).replace("10.10.", f"10.{free}.").encode()


def published_schema() -> bytes:
    """Return the JSON Schema of the cluster file, as a file of the package: making it anew takes 10 ms. A test holds
    it equal to what the types say.
    """
    return (Path(__file__).parents[1] / "spec/cluster.schema.json").read_bytes()
