"""Objects of graphs and components for tests: made from a spec or a single component, converted, edited half-way."""

import json
from typing import Any

from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kind import LEFT, RIGHT
from dynamo_webhooks.conversion.kinds import KINDS

Object = dict[str, Any]
GRAPH = "DynamoGraphDeployment"
COMPONENT = "DynamoComponentDeployment"


def made(kind: str, version: str, spec: Any, name: str = "x", **parts: Any) -> Object:
    """An object without annotations."""
    return {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec, **parts}


def away(obj: Object) -> Object:
    """The object in the other version."""
    return convert(KINDS[obj["kind"]], obj, LEFT if obj["apiVersion"].endswith(RIGHT) else RIGHT).object


def saved(obj: Object) -> Any:
    """The payload of the spec's remainder, None where none was written."""
    short = "dgd" if obj["kind"] == GRAPH else "dcd"
    text = (obj["metadata"].get("annotations") or {}).get(f"nvidia.com/{short}-spec")
    return None if text is None else json.loads(text)["spec"]


def template(*containers: Object, **spec: Any) -> Object:
    """A pod template of these containers."""
    return {"spec": {"containers": list(containers), **spec}}
