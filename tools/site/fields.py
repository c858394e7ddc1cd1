"""The pages of the fields of all kinds, and of the keys of a project file: a heading, and so an address, for each."""

from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Final, TypeAlias

from dynamo_webhooks.api.kinds import list_kind_versions
from dynamo_webhooks.api.schema import SINCE, Node, resolve, whole_schema
from dynamo_webhooks.cli.commands.explain.field import find_other_version
from dynamo_webhooks.cli.project.keys import CLUSTER_KEYS, KEYS, OVERRIDE_KEYS
from tools.manual.console import table

Path: TypeAlias = tuple[str, ...]
Keyed: TypeAlias = tuple[bool, ...]
WILD: Final = "*"
PROJECT_FILE: Final = "project-file"


def field_pages() -> dict[str, str]:
    """The pages by file: one for each version of a kind, one for the project file."""
    kinds = {f"fields/{kind.lower()}-{version}.md": _page(kind, version) for kind, version in list_kind_versions()}
    return {**kinds, f"fields/{PROJECT_FILE}.md": _project_file()}


def address(path: Path) -> str:
    """The anchor of a field on the page of its kind: its path, without wildcards."""
    return ".".join(step for step in path if step != WILD)


def own_fields(kind: str, version: str) -> Iterator[tuple[Path, Keyed, Node]]:
    """The fields that this API declares, in the order of the schema, and for each step whether it is a key of a map.

    Below a field of one of Kubernetes' types are none.
    """
    yield from _below(whole_schema(kind, version), (), ())


def _below(node: Node, path: Path, keyed: Keyed) -> Iterator[tuple[Path, Keyed, Node]]:
    for name, below in (node.get("properties") or {}).items():
        yield (*path, name), (*keyed, False), below
        yield from _below(below, (*path, name), (*keyed, False))
    for word in ("items", "additionalProperties"):
        if isinstance(entry := node.get(word), dict):
            yield from _below(entry, (*path, WILD), (*keyed, word != "items"))


@cache
def _addresses(kind: str, version: str) -> frozenset[str]:
    return frozenset(address(path) for path, _, _ in own_fields(kind, version))


def _page(kind: str, version: str) -> str:
    intro = "This page lists the fields of the kind; `kubectl explain` shows those of Kubernetes' own types below them."
    sections = (_section(kind, version, *field) for field in own_fields(kind, version))
    return "\n\n".join(["---\nhide: [toc]\n---", f"# {kind} {version}", intro, *sections]) + "\n"


def _section(kind: str, version: str, path: Path, keyed: Keyed, node: Node) -> str:
    """One field: its path, its meaning, its type, and its place in the other version."""
    whole = resolve(node)
    said = [escape(whole.get("description") or node.get("description") or "", quote=False)]
    values = ", ".join(f"`{value}`" for value in whole.get("enum") or () if value != "")
    said.append(f"Type {whole.get('type', 'any')}{f', one of {values}' if values else ''}.")
    said += [f"Default `{whole['default']}`."] if "default" in whole else []
    said += [f"Since line {node[SINCE]} of the operator."] if SINCE in node else []
    said.append(_elsewhere(kind, version, path, keyed))
    return f"### `{'.'.join(path)}` {{ #{address(path)} }}\n\n{' '.join(filter(None, said))}"


def _elsewhere(kind: str, version: str, path: Path, keyed: Keyed) -> str:
    other = find_other_version(kind, version, path, keyed)
    if other is None or not other["exact"] or path[0] == "status":
        return ""
    there = address(tuple(other["path"].split(".")))
    if there not in _addresses(kind, other["version"]):  # within one of Kubernetes' types
        return f"In {other['version']}: `{other['path']}`."
    return f"In {other['version']}: [`{other['path']}`]({kind.lower()}-{other['version']}.md#{there})."


def _project_file() -> str:
    rows = [(key.name, key.means, key.flag) for key in KEYS]
    rows += [
        (f"{name}.{key}", means, "")
        for name, keys in (("clusters", CLUSTER_KEYS), ("overrides", OVERRIDE_KEYS))
        for key, means in keys.items()
    ]
    cells = ((f'<span id="{name}">`{name}`</span>', means, f"`{flag}`" if flag else "") for name, means, flag in rows)
    intro = "This page lists the keys of `.dynamo-webhooks.yaml`; [how to use it](../ci.md#a-project-file)."
    return f"# Project file\n\n{intro}\n\n{table('key | meaning | flag that wins', cells)}\n"
