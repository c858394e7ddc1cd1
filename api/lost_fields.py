"""Fields and versions that a definition would take away from a live one."""

from collections.abc import Iterator
from typing import Any, Final

from .schema import PRESERVE

MAX_DEPTH: Final = 64  # levels of fields that are compared; an API server's own limits are below


def find_lost_fields(live: Any, wanted: Any) -> list[str]:
    """Lists what objects would lose if `wanted` took the place of `live`: each a field with its version, or a sentence about a version."""
    before, after = _versions(live), _versions(wanted)
    lost: list[str] = []
    for name, version in before.items():
        if version.get("served") is True and (after.get(name) or {}).get("served") is not True:
            lost.append(f"version {name}, which is served")
        elif name in after:
            lost += [f"{name} {path}" for path in _lost(_schema(version), _schema(after[name]), "", MAX_DEPTH)]
    stored, next_stored = (
        next((name for name, each in versions.items() if each.get("storage") is True), "") for versions in (before, after)
    )
    if stored and stored > next_stored:
        lost.append(f"version {stored}, in which objects are stored")
    return lost


def _versions(crd: Any) -> dict[str, dict[str, Any]]:
    listed = _dict(_dict(crd).get("spec")).get("versions")
    entries = [each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)]
    return {each["name"]: each for each in entries if isinstance(each.get("name"), str)}


def _schema(version: dict[str, Any]) -> dict[str, Any]:
    return _dict(_dict(version.get("schema")).get("openAPIV3Schema"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _lost(old: dict[str, Any], new: dict[str, Any], path: str, depth: int) -> Iterator[str]:
    """The fields of one schema that another neither has nor preserves, without those below a lost field."""
    if not depth or new.get(PRESERVE) is True:
        return
    kept = _dict(new.get("properties"))
    for name, member in _dict(old.get("properties")).items():
        place = f"{path}.{name}" if path else str(name)
        if name not in kept:
            yield place
        else:
            yield from _lost(_dict(member), _dict(kept[name]), place, depth - 1)
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(old.get(key), dict):
            yield from _lost(old[key], _dict(new.get(key)), path + mark, depth - 1)
