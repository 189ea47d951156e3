"""Which port an address of HTTP is on."""

import pytest

from generator.model.monitoring import http_port


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("https://chat.example.org", 443),
        ("http://chat.example.org/base?a=b:c", 80),
        ("https://chat.example.org:8065/base", 8065),
        ("https://a:b@chat.example.org:1", 1),
        ("https://[fd00::1]:65535", 65535),
        ("https://[fd00::1]", 443),
        ("https://chat.example.org:0", None),
        ("https://chat.example.org:65536", None),
        ("https://chat.example.org:", None),
        ("file:///etc", None),
        ("https://", None),
        ("", None),
    ],
)
def test_the_port_of_an_address(url: str, port: int | None) -> None:
    assert http_port(url) == port
