"""JSON schemas (draft 2020-12) of what commands print, `<name>.schema.json`; they allow further fields, which may only ever be added."""

from pathlib import Path
from typing import Any, Final

import orjson

_HERE: Final = Path(__file__).parent
_SUFFIX: Final = ".schema.json"
# a format that is a stream of another one's parts -> the file, and the definition in it that describes one line
_PARTS: Final = {"check-lines": ("check", "line")}


def names() -> list[str]:
    """The names of all schemas, sorted."""
    return sorted({*(file.name.removesuffix(_SUFFIX) for file in _HERE.glob(f"*{_SUFFIX}")), *_PARTS})


def load(name: str) -> dict[str, Any]:
    """One schema, by one of `names`."""
    file, part = _PARTS.get(name, (name, ""))
    schema: dict[str, Any] = orjson.loads((_HERE / f"{file}{_SUFFIX}").read_bytes())
    if not part:
        return schema
    definitions = schema["$defs"]
    return {"$schema": schema["$schema"], **definitions.pop(part), "$defs": definitions}
