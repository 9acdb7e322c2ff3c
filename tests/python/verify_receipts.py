"""Verifies receipts with libraries that have nothing to do with this project.

    chio-host receipt export | python verify_receipts.py
    python verify_receipts.py receipts.jsonl

Each line is one receipt. Its id is SHA-256 over the canonical JSON (RFC 8785) of everything but id, algorithm and
signature; its signature is Ed25519 by `kernel_key` over the canonical JSON of {"body": ..., "id": ...}.
Exits 0 with a count, or 1 with the first problem.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from typing import Any

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Problem(Exception):
    """What is wrong with a receipt."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys stand once each; the standard library would keep the last of two."""
    record = dict(pairs)
    if len(record) != len(pairs):
        raise Problem("a key stands twice")
    return record


def parse(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, object_pairs_hook=once)
    except ValueError as error:
        raise Problem(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise Problem("not an object")
    return record


def of_hex(record: dict[str, Any], field: str) -> bytes:
    value = record.get(field)
    if not isinstance(value, str) or value != value.lower():
        raise Problem(f"no {field} in lower-case hex")
    try:
        return bytes.fromhex(value)
    except ValueError as error:
        raise Problem(f"{field} is not hex") from error


def verify(record: dict[str, Any]) -> None:
    if record.get("algorithm", "ed25519") != "ed25519":
        raise Problem(f"algorithm {record['algorithm']}")
    body = {key: value for key, value in record.items() if key not in ("id", "algorithm", "signature")}
    if hashlib.sha256(rfc8785.dumps(body)).digest() != of_hex(record, "id"):
        raise Problem("the id is not the hash of the body")
    signed = rfc8785.dumps({"body": body, "id": record["id"]})
    try:
        Ed25519PublicKey.from_public_bytes(of_hex(body, "kernel_key")).verify(of_hex(record, "signature"), signed)
    except InvalidSignature as error:
        raise Problem("the signature does not match") from error
    action = body.get("action", {})
    if body.get("redaction_mode") == "none":
        actual = hashlib.sha256(rfc8785.dumps(action.get("parameters"))).hexdigest()
        if actual != action.get("parameter_hash"):
            raise Problem("the parameters do not hash to the parameter_hash")


def verify_all(lines: Iterable[str]) -> int:
    verified = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            verify(parse(line))
        except (Problem, ValueError, rfc8785.CanonicalizationError) as error:
            raise Problem(f"line {number}: {error}") from error
        verified += 1
    return verified


def main(arguments: list[str]) -> None:
    if not arguments:
        print(verify_all(sys.stdin), "receipts verified")
        return
    with open(arguments[0], encoding="utf-8") as lines:
        print(verify_all(lines), "receipts verified")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Problem, OSError) as problem:
        print(problem, file=sys.stderr)
        sys.exit(1)
