"""Figures of a component that definitions have from line 1.4 on: the namespace of its runtime, and how many replicas have nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...api.line import Line
from ...kube.protocol import Node
from ..render.merge import object_items
from ..render.names import MAIN

_PARTS: Final = ("DYN_NAMESPACE", "DYN_NAMESPACE_WORKER_SUFFIX")  # the runtime joins them by a hyphen


def runtime_figures(line: Line, templates: Iterable[Node], status: Node) -> Node:
    """The figures by a component's pod templates and the status of what runs them; empty where definitions would drop them."""
    if line < Line.V1_4:
        return {}
    scheduled, namespace = status.get("scheduledReplicas"), next(filter(None, map(_namespace, templates)), "")
    counted = {"scheduledReplicas": scheduled} if isinstance(scheduled, int) else {}
    return {**counted, "runtimeNamespace": namespace} if namespace else counted


def _namespace(template: Node) -> str:
    """The Dynamo namespace of the main container; empty where its variables are known only to the kubelet."""
    main = next((one for one in object_items(template["spec"].get("containers")) if one.get("name") == MAIN), {})
    said: dict[Any, Node] = {one.get("name"): one for one in object_items(main.get("env"))}
    parts = [said[name] for name in _PARTS if name in said]
    if any("valueFrom" in one or "$(" in str(one.get("value")) for one in parts):
        return ""
    return "-".join(str(one["value"]) for one in parts if one.get("value"))
