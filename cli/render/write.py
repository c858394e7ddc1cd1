"""Writes children: as one stream, as one list, or as a file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.cli.convert.texts import json_text, yaml_text
from dynamo_webhooks.cli.exits import UsageError

if TYPE_CHECKING:
    from dynamo_webhooks.conversion.lens.protocol import Fields


def stream(children: list[Fields], form: str) -> str:
    """All children as YAML documents, or as one JSON list."""
    if form == "json":
        return json_text(children)
    return "".join(f"---\n{yaml_text(one)}" for one in children)


def into_folder(children: list[Fields], folder: str, form: str) -> list[str]:
    """Writes a file for each child, `NAMESPACE/kind-name.yaml`, and returns the paths below the folder; other files there stay.

    Raises: UsageError when the folder can't be written to.
    """
    from pathlib import Path

    paths = []
    for one in children:
        metadata = one["metadata"]
        name = f"{_safe(metadata['namespace'])}/{one['kind'].lower()}-{_safe(metadata['name'])}.{form}"
        target = Path(folder) / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json_text(one) if form == "json" else yaml_text(one), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"-d {folder}: {name} can't be written: {error.strerror}") from None
        paths.append(name)
    return paths


def _safe(name: str) -> str:
    """A name as a part of a path; an object that no cluster would take may be called anything."""
    cut = "".join(character if character.isalnum() or character in "-._" else "_" for character in name)[:200]
    return cut if cut.strip(".") else "_"
