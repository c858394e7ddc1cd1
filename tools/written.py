"""Writes generated files, or names those that are stale: what every generator of this folder ends with."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def update(wanted: Mapping[Path, bytes], arguments: list[str], present: Iterable[Path] = ()) -> int:
    """Writes the files that differ and removes those of `present` that are not wanted; with `--check` names both. Returns the exit code."""
    stale = sorted(file for file, data in wanted.items() if not file.is_file() or file.read_bytes() != data)
    over = sorted(set(present) - wanted.keys())
    if "--check" in arguments:
        for file in (*stale, *over):
            name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file.name
            print(f"{name} is {'stale' if file in wanted else 'left over'}: run make generate", file=sys.stderr)
        return 1 if stale or over else 0
    for file in stale:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(wanted[file])
    for file in over:
        file.unlink()
    return 0
