"""Samples of the objects whose conversion was recorded from the Go operator."""

from functools import cache
from typing import Any, Final

import orjson

from tests.golden.corpus import cases

OTHER: Final = {"v1alpha1": "v1beta1", "v1beta1": "v1alpha1"}


@cache
def objects() -> list[dict[str, Any]]:
    """Recorded objects of the versions that convert, each once."""
    found = {orjson.dumps(one): one for case in cases("convert15.ndjson.gz", "convert") if isinstance(one := case["object"], dict)}
    return [one for one in found.values() if version(one) in OTHER and isinstance(one.get("spec"), dict)]


def version(obj: dict[str, Any]) -> str:
    """The version that an object is of, without its group."""
    return str(obj.get("apiVersion")).partition("/")[2]


def sample(apart: int) -> list[dict[str, Any]]:
    """Objects that together have all fields below `spec` of each kind and version, and of all others one in so many."""
    seen, kept = set[tuple[str, str, str]](), []
    for one in sorted(objects(), key=lambda one: -len(one["spec"])):
        fields = {(version(one), str(one.get("kind")), name) for name in one["spec"]}
        if not fields <= seen:
            seen |= fields
            kept.append(one)
    return [*kept, *objects()[::apart]]
