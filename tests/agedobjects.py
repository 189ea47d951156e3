"""Time that passes for what a MinIO holds: all on its drive becomes older, and the server judges it by its own clock.

The form of `xl.meta` is that of MinIO's `cmd/xl-storage-format-v2.go`: a header, what is said of all versions, the
lower half of its xxHash64, then the data of small objects.
"""

import contextlib
import re
import struct
import time
from datetime import datetime, timedelta
from pathlib import Path

DAY = 86400
_NANOSECONDS = re.compile(rb"\xd3[\x16-\x1a].{7}", re.DOTALL)
_TIME = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d")
_START = 13  # of what is said of the versions: behind `XL2 `, the form's version and the length
_PRIMES = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_ALL = 2**64 - 1


def older(bucket: Path, days: int) -> None:
    """Make all versions, marks of deletion and locks of a bucket, on its only drive, so many days older. The server
    removes what is too old meanwhile.
    """
    for file in bucket.rglob("xl.meta"):
        made = file.with_name("xl.meta.older")
        with contextlib.suppress(FileNotFoundError):
            made.write_bytes(_older(file.read_bytes(), days))
            made.replace(file)


def _older(data: bytes, days: int) -> bytes:
    assert data[:4] == b"XL2 "
    assert data[8:9] == b"\xc6"
    (length,) = struct.unpack(">I", data[9:_START])
    end = _START + length
    said, rest = data[_START:end], data[end:]
    assert rest[:5] == b"\xce" + struct.pack(">I", xxhash64(said) & 0xFFFFFFFF)
    said = _NANOSECONDS.sub(lambda found: _moved(found, days), said)
    said = _TIME.sub(lambda found: _dated(found, days), said)
    return data[:_START] + said + b"\xce" + struct.pack(">I", xxhash64(said) & 0xFFFFFFFF) + rest[5:]


def _moved(found: re.Match[bytes], days: int) -> bytes:
    (when,) = struct.unpack(">q", found[0][1:])
    if abs(when / 10**9 - time.time()) > 400 * DAY:  # part of a name
        return found[0]
    return b"\xd3" + struct.pack(">q", when - days * DAY * 10**9)


def _dated(found: re.Match[bytes], days: int) -> bytes:
    return (datetime.fromisoformat(found[0].decode()) - timedelta(days=days)).isoformat().encode()


def xxhash64(data: bytes) -> int:
    """Return the hash of something, with the seed 0."""
    one, two, _, four, five = _PRIMES
    done = len(data) // 32 * 32
    if done:
        lanes = [one + two & _ALL, two, 0, -one & _ALL]
        for start in range(0, done, 32):
            words = struct.unpack_from("<4Q", data, start)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
        found = sum(_turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _ALL
        for lane in lanes:
            found = (found ^ _round(0, lane)) * one + four & _ALL
    else:
        found = five
    return _ended(_rest(found + len(data) & _ALL, data[done:]))


def _rest(found: int, data: bytes) -> int:
    one, two, three, four, five = _PRIMES
    at = 0
    while at + 8 <= len(data):
        found = _turned(found ^ _round(0, *struct.unpack_from("<Q", data, at)), 27) * one + four & _ALL
        at += 8
    if at + 4 <= len(data):
        found = _turned(found ^ struct.unpack_from("<I", data, at)[0] * one & _ALL, 23) * two + three & _ALL
        at += 4
    for byte in data[at:]:
        found = _turned(found ^ byte * five & _ALL, 11) * one & _ALL
    return found


def _ended(found: int) -> int:
    for shift, prime in ((33, _PRIMES[1]), (29, _PRIMES[2])):
        found = (found ^ found >> shift) * prime & _ALL
    return found ^ found >> 32


def _round(lane: int, word: int) -> int:
    return _turned(lane + word * _PRIMES[1] & _ALL, 31) * _PRIMES[0] & _ALL


def _turned(value: int, by: int) -> int:
    return (value << by | value >> 64 - by) & _ALL
