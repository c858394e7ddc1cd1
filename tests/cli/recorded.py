"""Samples of the objects whose conversion was recorded from the Go operator."""

from functools import cache
from typing import Any, Final

import orjson

from tests.golden.corpus import cases

OTHER: Final = {"v1alpha1": "v1beta1", "v1beta1": "v1alpha1"}


@cache
def objects() -> list[dict[str, Any]]:
    """Recorded objects of the versions that convert, each once."""
    unique = {orjson.dumps(obj): obj for case in cases("convert15.ndjson.gz", "convert") if isinstance(obj := case["object"], dict)}
    return [entry for entry in unique.values() if version(entry) in OTHER and isinstance(entry.get("spec"), dict)]


def version(obj: dict[str, Any]) -> str:
    """The version that an object is of, without its group."""
    return str(obj.get("apiVersion")).partition("/")[2]


def sample(apart: int) -> list[dict[str, Any]]:
    """Objects that together have all fields below `spec` of each kind and version, and of all others one in so many."""
    seen, kept = set[tuple[str, str, str]](), []
    for obj in sorted(objects(), key=lambda item: -len(item["spec"])):
        fields = {(version(obj), str(obj.get("kind")), name) for name in obj["spec"]}
        if not fields <= seen:
            seen |= fields
            kept.append(obj)
    return [*kept, *objects()[::apart]]
