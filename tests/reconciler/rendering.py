"""Renders an object of a test as the command does: with the defaults of admission, then everything down to the leaves."""

from collections.abc import Iterator
from typing import Any, Final

from dynamo_webhooks.cli.objects.forms import create
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.reconciler.render.children import RenderedChildren, render
from dynamo_webhooks.reconciler.render.settings import Settings

Fields = dict[str, Any]
VERSION: Final = "1.2.0"
GROUP: Final = "nvidia.com"


def stored(obj: Fields, version: str = VERSION, **facts: Any) -> Fields:
    """The object as a cluster would hold it."""
    return create(obj, Facts(operatorVersion=version, **facts), "")


def rendered(obj: Fields, **settings: Any) -> RenderedChildren:
    """All children of an object that is created now."""
    chosen = Settings(**{"operator_version": VERSION, **settings})
    return render(stored(obj, chosen.operator_version), chosen)


def children(obj: Fields, **settings: Any) -> dict[str, Fields]:
    """Children by kind and name, of an object that has no problems. A generation of workers is left out of names."""
    done = rendered(obj, **settings)
    assert [str(problem) for problem in done.problems] == []
    named = {}
    for child in done.children:
        name = child["metadata"]["name"]
        generation = (child["metadata"].get("labels") or {}).get("nvidia.com/dynamo-worker-hash")
        named[f"{child['kind']} {name.removesuffix(f'-{generation}') if generation else name}"] = child
    return named


def graph(*components: Fields, name: str = "g", annotations: Fields | None = None, **spec: Any) -> Fields:
    """A v1beta1 graph in the namespace `demo`."""
    metadata: Fields = {"name": name, "namespace": "demo", **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": metadata,
        "spec": {"components": [*components], **spec},
    }


def alpha(name: str, kind: str, **service: Any) -> Fields:
    """A v1alpha1 graph of one service in the namespace `demo`."""
    spec = {"services": {name: {"componentType": kind, **service}}}
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "namespace": "demo"},
        "spec": spec,
    }


def component(name: str, kind: str = "", main: Fields | None = None, pod: Fields | None = None, **fields: Any) -> Fields:
    """A component; `main` is its main container, `pod` the rest of its pod spec."""
    spec: Fields = {**(pod or {}), "containers": [{"name": "main", **(main or {})}, *((pod or {}).get("containers") or [])]}
    kinded = {"type": kind} if kind else {}
    template = fields.pop("podTemplate", {})
    return {"name": name, **kinded, "podTemplate": {**template, "spec": spec}, **fields}


def vllm(name: str = "worker", kind: str = "worker", *, gpus: str = "1", args: tuple[str, ...] = (), **fields: Any) -> Fields:
    """A worker on vLLM."""
    main = {
        "image": "img:1",
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--model", "m", *args],
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    return component(name, kind, {**main, **fields.pop("main", {})}, **fields)


def pod_of(deployment: Fields) -> Fields:
    """The pod spec of a Deployment."""
    spec: Fields = deployment["spec"]["template"]["spec"]
    return spec


def main_of(deployment: Fields) -> Fields:
    """The first container of a Deployment's pods."""
    out: Fields = pod_of(deployment)["containers"][0]
    return out


def env_of(container: Fields) -> dict[str, Any]:
    """A container's variables: values by name, sources where there is no value."""
    return {entry["name"]: entry.get("value", entry.get("valueFrom", "")) for entry in container["env"]}


def walk(value: Any) -> Iterator[Fields]:
    """Every map anywhere in a value."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(item)
