"""Tables, probes and trees of objects as Markdown, for the page of default values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dynamo_webhooks.conversion.lens.protocol import Fields


def grid(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def words(value: Any) -> str:
    """A command or its arguments as one piece of code; nothing where there are none."""
    return f"`{' '.join(str(one) for one in value)}`" if value else ""


def listed(entries: Iterable[str]) -> str:
    """Several entries in one cell."""
    return ", ".join(entries)


def one_probe(probe: Fields | None) -> str:
    """A probe in words; figures that are not set are left out, since Kubernetes has defaults of its own."""
    if not probe:
        return ""
    if "httpGet" in probe:
        what = f"`GET {probe['httpGet']['path']}` on `{probe['httpGet']['port']}`"
    else:
        what = f"gRPC {probe['grpc']['port']}, `{probe['grpc']['service']}`"
    figures = {
        "initialDelaySeconds": "after {} s",
        "periodSeconds": "every {} s",
        "timeoutSeconds": "in {} s",
        "failureThreshold": "failures: {}",
    }
    return ", ".join([what, *(text.format(probe[name]) for name, text in figures.items() if name in probe)])


def tree(root: Fields, children: Sequence[Fields]) -> str:
    """Who owns what, as lines that hang on each other; what nobody owns comes last."""
    below: dict[tuple[str, str], list[Fields]] = {}
    for one in children:
        owner = next(iter(one["metadata"].get("ownerReferences") or ()), {"kind": "", "name": ""})
        below.setdefault((owner["kind"], owner["name"]), []).append(one)
    key = (root["kind"], root["metadata"]["name"])
    lines = [_called(root), *_branches(key, below, "")]
    free = below.get(("", ""), [])
    return "\n".join([*lines, *(f"{_called(one)} (in {one['metadata']['namespace']}, without owner)" for one in free)])


def _branches(key: tuple[str, str], below: dict[tuple[str, str], list[Fields]], indent: str) -> list[str]:
    found, lines = below.get(key, []), []
    for index, one in enumerate(found):
        last = index == len(found) - 1
        lines.append(f"{indent}{'└─' if last else '├─'} {_called(one)}")
        lines += _branches((one["kind"], one["metadata"]["name"]), below, indent + ("   " if last else "│  "))
    return lines


def _called(one: Fields) -> str:
    return f"{one['kind']} {one['metadata']['name']}"
