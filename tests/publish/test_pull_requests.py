"""Pull requests over the published APIs, the link in any case, and tokens that nobody sees."""

from typing import Any

import pytest
from forgeworld import TOKEN, Sent, forge
from gitworld import Person, Said

QUOTA = ("bench: {gpus: 2}", "bench: {gpus: 1}")
VARIABLES = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN", "gitea": "GITEA_TOKEN"}
PAGES = {"github": "html_url", "gitlab": "web_url", "gitea": "html_url"}
KEYS = {"github": ("head", "base", "body"), "gitea": ("head", "base", "body")}
KEYS["gitlab"] = ("source_branch", "target_branch", "description")


def hosted(person: Person, kind: str, url: str) -> None:
    """Let the remote be one that Git pushes to here, with an address of a server there."""
    here = person.git("config", "remote.origin.url")
    person.git("config", "remote.origin.url", "git@git.example.org:lab/clusters.git")
    person.git("config", f"url.{here}.insteadOf", "git@git.example.org:lab/clusters.git")
    person.git("config", "gen.forge", f"{kind} {url}".strip())


def pushed(person: Person, *words: str) -> Said:
    person.edit(*QUOTA)
    said = person.gen("commit", "--push", "--branch", "less", *words)
    assert TOKEN not in "".join(map(str, said)) + (person.root / ".git/config").read_text()
    return said


@pytest.mark.parametrize("kind", VARIABLES)
def test_a_pull_request_is_opened_with_the_message(ann: Person, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv(VARIABLES[kind], TOKEN)
    with forge(kind, lambda _: (201, {PAGES[kind]: "https://git.example.org/lab/clusters/9"})) as server:
        hosted(ann, kind, server.url)
        said = pushed(ann, "-m", "Less for mlperf")
    assert said.code == 0, said.err
    assert "opened: https://git.example.org/lab/clusters/9" in said.out
    assert "/lab/clusters/" in said.out.partition("compare: ")[2]
    assert "main...less" in said.out
    (sent,) = server.sent
    branch, base, text = (sent.body[key] for key in KEYS[kind])
    assert (sent.body["title"], branch, base) == ("Less for mlperf", "less", "main")
    assert "a30-bench: " in text


def test_without_a_token_there_is_the_link(ann: Person) -> None:
    hosted(ann, "gitlab", "")
    said = pushed(ann)
    assert said.code == 0
    assert "compare: https://git.example.org/lab/clusters/-/compare/main...less" in said.out
    assert "GITLAB_TOKEN lets gen open a pull request" in said.err


EXISTING: dict[str, tuple[int, Any]] = {
    "github": (422, {"message": "Validation Failed", "errors": [{"message": "A pull request already exists for x"}]}),
    "gitlab": (409, {"message": ["Another open merge request already exists for this source branch: !5"]}),
    "gitea": (409, {"message": "pull request already exists for these targets"}),
}


@pytest.mark.parametrize("kind", VARIABLES)
def test_one_that_is_open_is_no_mistake(ann: Person, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setenv(VARIABLES[kind], TOKEN)
    with forge(kind, lambda _: EXISTING[kind]) as server:
        hosted(ann, kind, server.url)
        said = pushed(ann)
    assert said.code == 0, said.err
    assert "a pull request is open for this branch already" in said.err
    assert "main...less" in said.out


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((403, {"message": f"token {TOKEN} may not"}), "check what the token in GITEA_TOKEN may do"),
        ((404, {"message": "Not Found"}), "whether the token in GITEA_TOKEN may see lab/clusters"),
        ((500, b"<html>"), "500 Internal Server Error"),
        ((201, b"<html>"), "did not answer in JSON"),
        ((422, {"message": "base branch does not exist"}), "base branch does not exist"),
    ],
)
def test_a_refusal_is_one_sentence_after_the_push(
    ann: Person, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, Any], told: str
) -> None:
    monkeypatch.setenv("GITEA_TOKEN", TOKEN)
    with forge("gitea", lambda _: answer) as server:
        hosted(ann, "gitea", server.url)
        said = pushed(ann)
    assert said.code == 1
    assert told in said.err
    assert "no pull request was opened" in said.err
    assert "pushed" in said.out
    assert "compare: " in said.out


def test_a_wrong_token_is_told_by_the_name_of_its_variable(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "another")
    with forge("github", lambda _: (201, {})) as server:
        hosted(ann, "github", server.url)
        said = pushed(ann)
    assert said.code == 1
    assert "401" in said.err
    assert "GH_TOKEN or GITHUB_TOKEN is not valid there" in said.err


def test_a_token_does_not_follow_to_another_server(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITEA_TOKEN", TOKEN)
    with (
        forge("gitea", lambda _: (201, {})) as other,
        forge("gitea", lambda _: (302, {"to": f"{other.url}/api/v1/repos/lab/clusters/pulls"})) as server,
    ):
        hosted(ann, "gitea", server.url)
        said = pushed(ann)
    assert other.sent == []
    assert said.code == 1
    assert "302" in said.err


def test_a_token_is_not_sent_over_plain_http(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITEA_TOKEN", TOKEN)
    hosted(ann, "gitea", "http://git.example.org")
    said = pushed(ann)
    assert said.code == 1
    assert "no token is sent over plain http" in said.err


def test_a_token_is_not_sent_on_the_strength_of_a_name(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_TOKEN", TOKEN)
    here = ann.git("config", "remote.origin.url")
    ann.git("config", "remote.origin.url", "https://ann:pass@gitlab.evil.example/lab/clusters.git")
    ann.git("config", f"url.{here}.insteadOf", "https://ann:pass@gitlab.evil.example/lab/clusters.git")
    said = pushed(ann)
    assert said.code == 0
    assert "`git config gen.forge gitlab` allows it" in said.err
    assert "compare: https://gitlab.evil.example/lab/clusters/-/compare/main...less" in said.out
    assert "pass@" not in said.out + said.err


def test_a_server_that_is_silent_is_told(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITEA_TOKEN", TOKEN)
    hosted(ann, "gitea", "http://127.0.0.1:1")
    said = pushed(ann)
    assert said.code == 1
    assert "127.0.0.1:1 cannot be asked: " in said.err


def test_a_setting_that_is_none_is_told(ann: Person) -> None:
    hosted(ann, "subversion", "")
    said = pushed(ann)
    assert said.code == 1
    assert "gen.forge: `subversion` is none of github, gitlab, gitea" in said.err


def test_a_push_to_a_folder_has_no_link_and_promises_none(ann: Person) -> None:
    said = pushed(ann)
    assert said.code == 0
    assert "compare:" not in said.out
    assert "gen.forge" not in said.err


def test_a_server_that_nobody_knows_has_no_link_and_it_is_said_how_to_get_one(ann: Person) -> None:
    ann.git("remote", "set-url", "--push", "origin", ann.git("remote", "get-url", "origin"))
    ann.git("remote", "set-url", "origin", "https://git.example.org/lab/clusters.git")
    said = pushed(ann)
    assert said.code == 0, said.err
    assert "`git config gen.forge github`" in said.err


def test_the_api_that_stands_in_refuses_what_is_not_published(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request in the form of one kind is refused by the others: the checks of the stand-in bite."""
    monkeypatch.setenv("GITEA_TOKEN", TOKEN)

    def never(_: Sent) -> tuple[int, Any]:
        raise AssertionError

    with forge("gitlab", never) as server:
        hosted(ann, "gitea", server.url)
        assert "404" in pushed(ann).err
