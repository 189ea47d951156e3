"""Which server a remote's address leads to."""

import re

import pytest

from generator.errors import UsageError
from generator.publish.forges import forge, token


@pytest.mark.parametrize(
    ("address", "kind", "web", "path"),
    [
        ("git@github.com:lab/clusters.git", "github", "https://github.com", "lab/clusters"),
        ("https://github.com/lab/clusters", "github", "https://github.com", "lab/clusters"),
        ("https://oauth2:secret@gitlab.com/a/b/c.git", "gitlab", "https://gitlab.com", "a/b/c"),
        ("ssh://git@codeberg.org:22/lab/clusters.git", "gitea", "https://codeberg.org", "lab/clusters"),
        ("https://gitea.example.org:3000/lab/clusters.git/", "gitea", "https://gitea.example.org:3000", "lab/clusters"),
        ("http://[fd00::1]:3000/gitea/lab/x", "gitea", "http://[fd00::1]:3000", "gitea/lab/x"),
        ("git@gitlab.example.org:lab/sub/clusters.git", "gitlab", "https://gitlab.example.org", "lab/sub/clusters"),
    ],
)
def test_addresses_lead_to_servers(address: str, kind: str, web: str, path: str) -> None:
    found = forge(address, "gitea" if "fd00" in address else "", {})
    assert found is not None
    assert (found.kind, found.web, found.path) == (kind, web, path)
    assert found.trusted == (
        web in {"https://github.com", "https://gitlab.com", "https://codeberg.org", "http://[fd00::1]:3000"}
    )


@pytest.mark.parametrize(
    "address",
    [
        *("", "/srv/git/lab.git", "file:///srv/git/lab.git", "../lab.git", "git@git.example.org:lab/x.git", "x:y"),
        *("https://[::1/lab/x", "https://git.example.org:port/lab/x", "ssh://git@github.com:99999/lab/x"),
        "https://[v]/a/b",
    ],
)
def test_what_nobody_knows_is_no_server(address: str) -> None:
    assert forge(address, "", {}) is None


def test_a_setting_says_what_the_name_does_not() -> None:
    found = forge("ssh://git@git.example.org:2222/git/lab/clusters.git", "gitea https://git.example.org/git/", {})
    assert found is not None
    assert (found.api, found.path, found.trusted) == ("https://git.example.org/git/api/v1", "lab/clusters", True)
    for told in ("git.example.org", "https://[::1", "https://git.example.org:port"):
        with pytest.raises(UsageError, match=f"gen.forge: `gitea {re.escape(told)}` is none of"):
            forge("git@git.example.org:lab/clusters.git", f"gitea {told}", {})


def test_a_job_knows_its_own_server() -> None:
    address = "https://git.example.org/lab/clusters.git"
    cases = (
        ({"CI_SERVER_URL": "https://git.example.org"}, "gitlab"),
        ({"GITHUB_SERVER_URL": "https://git.example.org"}, "github"),
        ({"GITHUB_SERVER_URL": "https://git.example.org", "GITEA_ACTIONS": "true"}, "gitea"),
    )
    for env, kind in cases:
        found = forge(address, "", env)
        assert found is not None
        assert (found.kind, found.trusted) == (kind, True)
    assert forge(address, "", {"CI_SERVER_URL": "https://other.example.org"}) is None


def test_apis_and_links_are_where_each_kind_has_them() -> None:
    hub, lab = forge("git@github.com:a/b", "", {}), forge("git@gitlab.com:a/b", "", {})
    own = forge("git@git.example.org:a/b", "github", {})
    assert hub is not None
    assert lab is not None
    assert own is not None
    assert [one.api for one in (hub, lab, own)] == [
        "https://api.github.com",
        "https://gitlab.com/api/v4",
        "https://git.example.org/api/v3",
    ]
    assert hub.compare("main", "gen/a #1") == "https://github.com/a/b/compare/main...gen/a%20%231"
    assert lab.compare("main", "x") == "https://gitlab.com/a/b/-/compare/main...x"


def test_a_job_token_of_gitlab_opens_nothing() -> None:
    assert token("gitlab", {"CI_JOB_TOKEN": "x"}) == ("", "")
    assert token("github", {"GITHUB_TOKEN": "x", "GH_TOKEN": " y "}) == ("GH_TOKEN", "y")
