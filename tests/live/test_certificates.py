"""Certificates that end soon, made by openssl."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from generator.live.certificate_end import end_of, end_of_pem
from generator.live.status.certificates import certificate_causes

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def made(folder: Path, *days: str) -> str:
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=x",
    ]
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "crt"), *days]
    subprocess.run([*words, *files], check=True, capture_output=True)
    return (folder / "crt").read_text()


@pytest.mark.parametrize("days", [1, 365, 365 * 40])
def test_the_end_of_a_certificate_as_openssl_says_it(days: int, tmp_path: Path) -> None:
    """Beyond 2049 the time is written in another form."""
    text = made(tmp_path, "-days", str(days))
    words = ["openssl", "x509", "-noout", "-enddate", "-in", str(tmp_path / "crt")]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip().removeprefix("notAfter=")
    assert end_of_pem(f"bag\n{text}{text}") == datetime.strptime(said, "%b %d %H:%M:%S %Y GMT").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_what_is_none_has_no_end(text: str) -> None:
    assert end_of_pem(text) is None


@pytest.mark.parametrize("data", [b"", b"\x30", b"\x30\x84", b"\x30\x02\x30\x00", b"\x02\x01\x00"])
def test_what_cannot_be_read_is_said_so(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"no certificate"):
        end_of(data)


def certificate(name: str, ends: datetime, ready: str = "True", message: str = "") -> dict[str, Any]:
    condition = {"type": "Ready", "status": ready, "message": message}
    status = {"notAfter": ends.strftime("%Y-%m-%dT%H:%M:%SZ"), "conditions": [condition]}
    return {"metadata": {"name": name, "namespace": "a"}, "status": status}


def test_certificates_that_end_within_thirty_days() -> None:
    far, soon, over = (NOW + timedelta(days=days) for days in (31, 29, -1))
    found = [certificate("far", far), certificate("soon", soon), certificate("over", over)]
    assert [(one.objects, one.why) for one in certificate_causes(found, NOW)] == [
        (("Certificate a/soon",), "it ends in 29 days, on 2026-06-30"),
        (("Certificate a/over",), "it ended on 2026-05-31"),
    ]


def test_a_certificate_that_was_never_made() -> None:
    never = certificate("x", NOW, "False", "Issuing certificate as Secret does not exist")
    del never["status"]["notAfter"]
    (cause,) = certificate_causes([never], NOW)
    assert cause.why == "it is not ready: Issuing certificate as Secret does not exist"
