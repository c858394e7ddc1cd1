"""Compares two renders: identities of a live cluster and empty values don't matter."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from dynamo_webhooks.api.quantity import is_quantity, parse

Fields = dict[str, Any]

_LIVE: Final = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "finalizers")
_BOOKKEEPING: Final = ("last-applied-hash", "last-applied-generation", "dcd-spec", "dgd-spec")
_KEPT_EMPTY: Final = ("emptyDir", "args")
_HASH_LABEL: Final = "nvidia.com/dynamo-worker-hash"
SCRIPTS: Final = re.compile(r"wait-for-leader\.py")


def tidy(children: Iterable[Fields]) -> dict[str, Fields]:
    """Children by kind and name, with the generation of workers as a constant and without what doesn't count."""
    children = list(children)
    text = json.dumps(children)
    hashes = {(one["metadata"].get("labels") or {}).get(_HASH_LABEL) for one in children} - {None}
    for found in hashes:
        text = text.replace(str(found), "HHHHHHHH")
    return {f"{one['kind']} {one['metadata']['name']}": _tidy(one) for one in json.loads(text)}


def _tidy(one: Fields) -> Fields:
    metadata = one["metadata"]
    for name in _LIVE:
        metadata.pop(name, None)
    for owner in metadata.get("ownerReferences") or ():
        owner.pop("uid", None)
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {key: text for key, text in annotations.items() if key.removeprefix("nvidia.com/") not in _BOOKKEEPING}
    one.pop("status", None)
    data = one.get("data") or {}
    if one["kind"] == "Secret":
        one["data"] = sorted(data)
    elif one["kind"] == "ConfigMap":
        one["data"] = {key: "" if SCRIPTS.fullmatch(key) else text for key, text in data.items()}
    out: Fields = _full(one)
    return out


def _full(value: Any) -> Any:
    """The value without members that say nothing."""
    if isinstance(value, list):
        return [_full(one) for one in value]
    if not isinstance(value, dict):
        return value
    full = {name: _full(one) for name, one in value.items()}
    return {name: one for name, one in full.items() if one is not None and (name in _KEPT_EMPTY or one not in ({}, [], ""))}


def differences(have: Any, want: Any, path: str = "") -> Iterator[str]:
    """Where two tidied values differ; quantities count by amount."""
    if isinstance(have, dict) and isinstance(want, dict):
        for name in sorted(have.keys() | want.keys()):
            if name not in have or name not in want:
                what = "missing" if name not in have else "unexpected"
                yield f"{path}.{name}: {what}: {json.dumps(have.get(name, want.get(name)))[:160]}"
            else:
                yield from differences(have[name], want[name], f"{path}.{name}")
    elif isinstance(have, list) and isinstance(want, list) and len(have) == len(want):
        for index, (one, two) in enumerate(zip(have, want, strict=True)):
            yield from differences(one, two, f"{path}[{index}]")
    elif not _equal(have, want):
        yield f"{path}: got {json.dumps(have)[:200]}, want {json.dumps(want)[:160]}"


def _equal(have: Any, want: Any) -> bool:
    if type(have) is type(want) and have == want:
        return True
    amounts = [value for value in (have, want) if isinstance(value, str) and is_quantity(value)]
    return len(amounts) == 2 and parse(amounts[0]) == parse(amounts[1])
