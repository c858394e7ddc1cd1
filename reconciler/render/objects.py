"""The metadata of a child: identity, labels, owner; and objects as text, whose order never changes."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from ...conversion.lens.protocol import Fields

# sort keys: characters with which no field's name begins
_FIRST: Final = {name: chr(number) for number, name in enumerate(("apiVersion", "kind", "metadata", "name", "namespace"))}


def make_child(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Fields | None = None,
    **content: Any,
) -> Fields:
    """An object. Labels and annotations are sorted, and omitted if empty; an owner becomes its controller, and gives its namespace."""
    metadata: Fields = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    if owner is not None:
        metadata["namespace"] = namespace or owner["metadata"].get("namespace") or "default"
        metadata["ownerReferences"] = [reference(owner)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def annotate(obj: Fields, annotations: Mapping[str, str]) -> Fields:
    """An object with more annotations."""
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **annotations}}}


def canonical(value: Any) -> Any:
    """A copy with ordered maps: names first, other members sorted."""
    if isinstance(value, dict):
        return {name: canonical(item) if isinstance(item, (dict, list)) else item for name, item in sorted(value.items(), key=_place)}
    return [canonical(item) for item in value] if isinstance(value, list) else value


def _place(member: tuple[str, Any]) -> str:
    return _FIRST.get(member[0], member[0])


def reference(owner: Fields) -> Fields:
    """The controller reference to an object, without uid if it was never stored."""
    metadata = owner["metadata"]
    out = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    if metadata.get("uid"):
        out["uid"] = metadata["uid"]
    return {**out, "controller": True, "blockOwnerDeletion": True}


def co_owner(owner: Fields) -> Fields:
    """The reference to one of several owners: what they own is collected when all of them are gone."""
    return {**reference(owner), "controller": False, "blockOwnerDeletion": False}


class _Dumper(yaml.SafeDumper):
    """Writes plain data without anchors, which readers may not support."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class asks for each value
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # a string that would be read as another type is in double quotes, as in Go
    plain = dumper.resolve(yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it out
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain and text else '"')


_Dumper.add_representer(str, _text)


def yaml_text(value: Any) -> str:
    """A value as YAML in block style, with sorted keys and unwrapped lines."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=2**31))
