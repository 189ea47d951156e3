"""What the types of the cluster file have in common."""

import re
from typing import Annotated

from msgspec import Meta, Struct

# `$` alone allows a final newline, in Python and in JSON Schema validators alike.
_END = r"$(?!\n)"


def camel(name: str) -> str:
    """Return the name of a field in the file: `pod_cidr` is `podCIDR`, `server_tls` `serverTLS`."""
    first, *rest = name.rstrip("_").split("_")
    upper = {"cidr": "CIDR", "cidr6": "CIDR6", "tls": "TLS", "url": "URL", "id": "ID", "ca": "CA"}
    return first + "".join(upper.get(word, word.capitalize()) for word in rest)


Branch = Annotated[
    str,
    Meta(
        # What `git check-ref-format` takes, less what shells and YAML would read otherwise.
        pattern=r"^(?![./-])(?!.*(\.\.|//|/\.|\.lock(/|$)|[./]$))[\w./-]+$(?!\n)",
        description="a branch of Git, as in main or release/1.0",
    ),
]


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename=camel):
    """A part of the cluster file. Subclasses repeat `frozen` and `kw_only`: msgspec does not inherit them
    for type checkers.
    """


DNS_LABEL = rf"^[a-z0-9]([-a-z0-9]*[a-z0-9])?{_END}"
_LONGEST = 63
"""Characters of a DNS label (RFC 1035, 2.3.4), and of the value of a Kubernetes label."""


def is_label(text: str, longest: int = _LONGEST) -> bool:
    """Tell whether a text is a DNS label of small letters, digits and hyphens."""
    return len(text) <= longest and re.search(DNS_LABEL, text) is not None


Name = Annotated[
    str, Meta(pattern=DNS_LABEL, max_length=_LONGEST, description="a DNS label: small letters, digits and hyphens")
]
_HOST_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
Host = Annotated[
    str,
    Meta(
        pattern=rf"^{_HOST_LABEL}(\.{_HOST_LABEL})*{_END}",
        max_length=253,
        description="a DNS name in lower case, of labels of up to 63 characters",
    ),
]
LONGEST_HOST = 200
"""Characters of a team's host: behind `certificate-` it names a file, behind `exposure-` a Secret that Cilium makes,
which may have 255 and 253."""
TeamHost = Annotated[
    str,
    Meta(
        pattern=rf"^{_HOST_LABEL}(\.{_HOST_LABEL})*{_END}",
        max_length=LONGEST_HOST,
        description=f"a DNS name in lower case, of {LONGEST_HOST} characters at most",
    ),
]
Label = Annotated[
    str,
    Meta(
        pattern=rf"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?{_END}",
        max_length=_LONGEST,
        description="the value of a Kubernetes label",
    ),
]
_TAG, _DIGEST = r":(?!latest(?:@|$))[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", r"@sha256:[0-9a-f]{64}"
ImageReference = Annotated[
    str,
    Meta(
        pattern=rf"^{_HOST_LABEL}(\.{_HOST_LABEL})*(:[0-9]{{1,5}})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"
        rf"({_TAG}({_DIGEST})?|{_DIGEST}){_END}",
        max_length=512,
        description="an image with its registry, and a digest or a tag other than latest",
    ),
]
# What would begin another line, or another file, wherever the text is written.
ONE_LINE = rf"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*{_END}"
Line = Annotated[str, Meta(pattern=ONE_LINE, description="text on one line")]
Interface = Annotated[
    str,
    Meta(
        # The kernel takes 15 bytes; `all` and `default` are folders of its settings, and systemd takes no bare number.
        pattern=rf"^(?!(all|default)$)[A-Za-z][A-Za-z0-9_.-]{{0,14}}{_END}",
        description="a network interface as the kernel names it: up to 15 letters, digits, - _ and .",
    ),
]
Folder = Annotated[
    str, Meta(pattern=rf"^(/[A-Za-z0-9_-]+)+{_END}", description="an absolute path of letters, digits, - and _")
]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Mtu = Annotated[int, Meta(ge=1280, le=65520)]
Vlan = Annotated[int, Meta(ge=1, le=4094)]
_IN_URL = r"[^\s\u0000-\u001f\u007f-\u009f]+"
Url = Annotated[str, Meta(pattern=rf"^(https?|ssh|oci|file)://{_IN_URL}{_END}|^[\w.-]+@[\w.-]+:{_IN_URL}{_END}")]
Download = Annotated[str, Meta(pattern=rf"^https://{_IN_URL}{_END}", description="the https:// address of a file")]
ChartRepository = Annotated[
    str, Meta(pattern=rf"^(https?|oci)://{_IN_URL}{_END}", description="a chart repository, https:// or oci://")
]
Service = Annotated[
    str,
    Meta(
        pattern=rf"^https://{_HOST_LABEL}(\.{_HOST_LABEL})*(:[0-9]{{1,5}})?{_END}",
        max_length=253,
        description="https:// and a host in lower case, with its port where it is not 443, and nothing behind",
    ),
]
Duration = Annotated[str, Meta(pattern=r"^[1-9][0-9]*[smhd]$(?!\n)", description="as in 30s, 15m, 2h, 7d")]
