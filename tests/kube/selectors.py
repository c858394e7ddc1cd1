"""Field and label selectors as an API server reads them."""

import re
from collections.abc import Callable
from typing import Any, Final

from dynamo_webhooks.kube.errors import InvalidError
from dynamo_webhooks.kube.protocol import Node

_SET: Final = re.compile(r"(?P<key>\S+)\s+(?P<operator>in|notin)\s+\((?P<values>[^)]*)\)")


def fields_match(obj: Node, selector: str) -> bool:
    """`metadata.name=a,metadata.namespace!=b`; the fields of metadata, and those of Secrets, Pods and Events that a server has."""
    return all(_field(obj, term) for term in selector.split(",") if term)


def labels_match(obj: Node, selector: str) -> bool:
    """Equality (`a=b`, `a==b`, `a!=b`), presence (`a`, `!a`) and sets (`a in (b, c)`, `a notin (b)`)."""
    labels: dict[str, str] = (obj.get("metadata") or {}).get("labels") or {}
    return all(_label(labels, term.strip()) for term in re.split(r",(?![^(]*\))", selector) if term.strip())


def _field(obj: Node, term: str) -> bool:
    path, wanted, negated = _equality(term)
    if path not in {"metadata.name", "metadata.namespace", "type", "status.phase", "spec.nodeName", "involvedObject.uid"}:
        raise InvalidError(400, "BadRequest", f"field label not supported: {path}")
    value: Any = obj
    for part in path.split("."):
        value = (value or {}).get(part)
    return ((value or "") == wanted) != negated


def _label(labels: dict[str, str], term: str) -> bool:
    if known := _SET.fullmatch(term):
        values = {value.strip() for value in known["values"].split(",")}
        if known["operator"] == "in":
            return labels.get(known["key"]) in values
        return labels.get(known["key"]) not in values
    if "=" in term:
        key, wanted, negated = _equality(term)
        return (labels.get(key) == wanted) != negated
    present: Callable[[str], bool] = labels.__contains__
    return not present(term[1:].strip()) if term.startswith("!") else present(term)


def _equality(term: str) -> tuple[str, str, bool]:
    """(left, right, whether negated)."""
    if "!=" in term:
        left, right = term.split("!=", 1)
        return left.strip(), right.strip(), True
    left, _, right = term.partition("==" if "==" in term else "=")
    return left.strip(), right.strip(), False
