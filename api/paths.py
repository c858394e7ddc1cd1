"""Field paths: tuples of field names, map keys and list indices; formats them, and looks up values by path."""

from typing import Final, TypeAlias


class Key(str):
    """A map key inside a path; equal to its text, but printed in brackets as Kubernetes prints keys."""

    __slots__ = ()


Path: TypeAlias = tuple[str | int, ...]
ROOT: Final[Path] = ()
MISSING: Final = object()


def format_path(path: Path, longest: int | None = None) -> str:
    """Prints a path as Kubernetes does: `spec.services[worker].pvcs[0].name`; the root is the empty text.

    Names are cut where they have more characters than `longest`: for texts that are cut there in any case, but are made many times.
    """
    out: list[str] = []
    for part in path:
        if longest is not None and isinstance(part, str) and len(part) > longest:
            part = type(part)(part[:longest])  # noqa: PLW2901 - the same part, shortened for printing
        if isinstance(part, (int, Key)):
            out.append(f"[{part}]")
        else:
            out.append(f".{part}" if out else part)
    return "".join(out)


def lookup(value: object, path: Path) -> object:
    """Returns the value at the path, or MISSING when a step does not exist; never raises."""
    for part in path:
        if isinstance(part, int):
            if not isinstance(value, list) or not -len(value) <= part < len(value):
                return MISSING
            value = value[part]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return MISSING
    return value
