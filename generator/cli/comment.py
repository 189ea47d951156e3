"""`gen comment`."""

import os
from pathlib import Path

import click

from generator.cli.terminal import say
from generator.errors import UsageError
from generator.publish.ci_jobs import job_token, review
from generator.publish.comments import comment, mark_of
from generator.publish.forge_api import ForgeApi
from generator.publish.forges import token_names


@click.command("comment")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
def command(file: Path) -> int:
    """Put a text on the pull request that this CI job runs for, as one comment that is updated in place.

    FILE begins with a hidden line by which the comment is found again, as `gen diff --output markdown` writes it; - is
    standard input. The token is that of GITHUB_TOKEN, GITLAB_TOKEN or GITEA_TOKEN.
    """
    text = _text(file)
    mark_of(text)
    found = review(os.environ)
    name, secret = job_token(found.place.kind, os.environ)
    if not name:
        raise UsageError(f"there is no token to comment with; give this job one in {token_names(found.place.kind)}")
    done = comment(ForgeApi(found.place, secret, os.environ.get("CI_SERVER_TLS_CA_FILE", "")), found, text)
    say(f"{done} the comment on {found.place.path} {found.number}")
    return 0


def _text(file: Path) -> str:
    try:
        with click.open_file(str(file), encoding="utf-8") as opened:
            return str(opened.read())
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: is no text in UTF-8") from None
