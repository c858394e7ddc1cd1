"""Whether an object already contains the fields to apply, ignoring additions by servers and other writers. Pure."""

import hashlib
from typing import Any

import orjson

from ...kube.protocol import Node


def digest(value: Any) -> str:
    """A digest of an object or a part of one, sixteen hexadecimal digits."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def fingerprint(live: Node) -> str:
    """A digest of what an apply can change: all but status and the server's metadata."""
    metadata = {name: live["metadata"].get(name) for name in ("labels", "annotations", "ownerReferences")}
    return digest({**{name: value for name, value in live.items() if name not in {"metadata", "status"}}, "metadata": metadata})


def contains(live: Any, wanted: Any) -> bool:
    """Whether `live` contains `wanted`. False may be wrong if a server writes values differently; true never is."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(_says_member(name, live.get(name), value) for name, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(live, list) and len(live) == len(wanted) and all(map(contains, live, wanted))
    return bool(live == wanted)


def _says_member(name: str, live: Any, wanted: Any) -> bool:
    if name == "ownerReferences" and isinstance(live, list):
        return all(any(contains(there, item) for there in live) for item in wanted)
    return contains(live, wanted) or (live is None and wanted in ({}, [], "", None))
