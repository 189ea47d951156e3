"""What surrounds a cluster, as far as it shows inside: `repository`, `site`, `gitops`."""

import re
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from generator.model.base import Branch, Line, Url, is_label
from generator.model.fields import dig, mapping
from generator.survey.notes import Notes
from generator.survey.seen import Seen, fits, named, text

Plain: TypeAlias = dict[str, Any]
ARGO_CD = "/api/v1/namespaces/argocd/configmaps/argocd-cm"
HOST = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)+")
DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def repository(seen: Seen, notes: Notes) -> Plain:
    """Return where Argo CD finds the cluster's files: what its root, or its only one, has for a source."""
    sources = [mapping(dig(one, "spec", "source")) for one in _applications(seen)]
    for source in sources:
        url, revision = text(source, "repoURL"), text(source, "targetRevision").removeprefix("refs/heads/")
        if fits(url, Url):
            other = revision not in {"", "HEAD", "main"} and fits(revision, Branch)
            return {"url": url, **({"branch": revision} if other else {})}
    notes.unknown(("repository",), "where Argo CD shall find what `gen render` writes")
    return {"url": "https://git.example.org/platform/clusters.git", "branch": "main"}


def _applications(seen: Seen) -> list[Plain]:
    found = seen.of_group("argoproj.io", "applications")
    return [one for one in found if named(one) == "root"] or (found if len(found) == 1 else [])


def site(seen: Seen, name: str, notes: Notes) -> Plain:
    """Return the section."""
    host = _argo_host(seen)
    found: Plain = {"domain": host.partition(".")[2] or f"{name}.example.org"}
    if host:
        notes.found(("site", "domain"), f"that of Argo CD's own address, {host}")
    else:
        notes.unknown(("site", "domain"), "the domain that the cluster's services are found in")
    notes.unknown(("site",), "dns, ntp, timezone, proxy, ca, mirrors, issuer: no API server knows them")
    if ingress := _ingress_class(seen, notes):
        found["ingressClass"] = ingress
    return found | ({"oidc": oidc} if (oidc := _oidc(seen)) else {})


def _argo_host(seen: Seen) -> str:
    host = urlsplit(text(seen.get(ARGO_CD), "data", "url")).hostname or ""
    return host if HOST.fullmatch(host) and host.count(".") > 1 else ""


def _ingress_class(seen: Seen, notes: Notes) -> str:
    classes = seen.items("/apis/networking.k8s.io/v1/ingressclasses")
    default = [one for one in classes if dig(one, "metadata", "annotations", DEFAULT_CLASS) == "true"]
    chosen = (default or classes)[:1]
    if len(classes) > 1 and chosen:
        notes.found(("site",), f"there are several ingress classes: {', '.join(map(named, classes))}")
    return next((named(one) for one in chosen if is_label(named(one))), "")


def _oidc(seen: Seen) -> Plain:
    flags = seen.flags("kube-apiserver")
    issuer, client = flags.get("oidc-issuer-url", ""), flags.get("oidc-client-id", "")
    if not client or not fits(issuer, Url) or not fits(client, Line):
        return {}
    claim = flags.get("oidc-groups-claim", "groups")
    return {"issuer": issuer, "client": client, **({"groupsClaim": claim} if claim != "groups" else {})}


def gitops(seen: Seen) -> Plain:
    """Return the section."""
    host = _argo_host(seen)
    return {"host": host} if host else {}
