"""Writes docs/defaults.md: default values and owners of children, from rendered objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.api.kinds import api_version
from dynamo_webhooks.reconciler.render.children import render
from dynamo_webhooks.reconciler.render.names import EPP, ORIGIN_VERSION, WORKER_HASH, WORKERS
from dynamo_webhooks.reconciler.render.pod.probes import KINDS
from dynamo_webhooks.reconciler.render.settings import Settings
from tools.manual.defaults_text import grid, listed, one_probe, tree, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.conversion.lens.protocol import Fields

TYPES: Final = ("frontend", "worker", "prefill", "decode", "planner", "epp", "default")
_HASH: Final = "HASH"
_VERSION: Final = "1.2.0"
_USUAL: Final = Settings(operator_version=_VERSION)
_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from rendered objects; edit reconciler/render, not this file -->

# Default values and the object tree

This page shows the children that `dynamo-webhooks render` makes of a graph `g` in the namespace `demo` with the operator's default
settings. `HASH` is the worker generation: eight digits computed from the workers' pod specification.

## How values combine with defaults

For the container `main` and the one that `frontendSidecar` names:

- Your strings, numbers and maps override a default unless they are empty (`""`, `0`, `false`, `[]`, `{}`), as in the Go operator. Only a
  component's `replicas: 0` counts.
- Your list replaces the whole default list. Keep the names of ports, which probes use.
- Your probe replaces the whole default probe.
- Environment variables merge by name, yours override, and the result is sorted by name.

"""
_TREES: Final = """
## The object tree

Children are deleted with their owner. The graphs of a namespace share objects without an owner, which stay.

"""


def defaults_page() -> str:
    """The whole page."""
    made = {kind: _deployment(kind) for kind in TYPES}
    parts = [
        _HEAD,
        _table("The main container", made, _MAIN),
        _table("The pod", made, _POD),
        _table("Probes", made, {kind: _probe(kind) for kind in KINDS}),
        _environment(made),
        _services(),
        _nodes(),
        _TREES,
        *_trees(),
    ]
    return "".join(parts)


def _graph(*components: Fields, **spec: Any) -> Fields:
    metadata = {"name": "g", "namespace": "demo", "annotations": {ORIGIN_VERSION: _VERSION}}
    return {
        "apiVersion": api_version("v1beta1"),
        "kind": "DynamoGraphDeployment",
        "metadata": metadata,
        "spec": {"components": [*components], **spec},
    }


def _component(kind: str, **fields: Any) -> Fields:
    typed = {} if kind == "default" else {"type": kind}
    configured: Fields = {"eppConfig": {"config": {"plugins": []}}} if kind == EPP else {}
    return {"name": kind, "replicas": 1, **typed, **configured, **fields}


def _worker(framework: str, *args: str, **fields: Any) -> Fields:
    main = {
        "name": "main",
        "image": "IMAGE",
        "command": ["python3", "-m", f"dynamo.{framework}"],
        "args": [*args],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
    }
    return _component("worker", podTemplate={"spec": {"containers": [main]}}, **fields)


def _children(graph: Fields, settings: Settings = _USUAL) -> list[Fields]:
    done = render(graph, settings)
    if done.problems:
        raise ValueError(f"the page's own graph can't be rendered: {done.problems[0]}")
    return done.children


def _deployment(kind: str) -> Fields:
    found = next(one for one in _children(_graph(_component(kind))) if one["kind"] == "Deployment")
    unnamed: Fields = _unnamed(found, found["metadata"]["labels"].get(WORKER_HASH, ""))
    return unnamed


def _unnamed(value: Any, generation: str) -> Any:
    """The value with the generation as a constant."""
    if isinstance(value, dict):
        return {name: _unnamed(one, generation) for name, one in value.items()}
    if isinstance(value, list):
        return [_unnamed(one, generation) for one in value]
    return value.replace(generation, _HASH) if generation and isinstance(value, str) else value


def _pod(found: Fields) -> Fields:
    spec: Fields = found["spec"]["template"]["spec"]
    return spec


def _main(found: Fields) -> Fields:
    container: Fields = _pod(found)["containers"][0]
    return container


def _probe(kind: str) -> Callable[[Fields], str]:
    return lambda found: one_probe(_main(found).get(kind))


_MAIN: Final[dict[str, Callable[[Fields], str]]] = {
    "command": lambda found: words(_main(found).get("command")),
    "args": lambda found: words(_main(found).get("args")),
    "ports": lambda found: listed(f"`{one['name']}` {one['containerPort']}" for one in _main(found).get("ports") or ()),
    "mounts": lambda found: listed(f"`{one['name']}` at `{one['mountPath']}`" for one in _main(found).get("volumeMounts") or ()),
}
_POD: Final[dict[str, Callable[[Fields], str]]] = {
    "seconds of grace": lambda found: str(_pod(found)["terminationGracePeriodSeconds"]),
    "restart policy": lambda found: str(_pod(found)["restartPolicy"]),
    "service account": lambda found: f"`{_pod(found)['serviceAccountName']}`",
    "group of volumes": lambda found: str(_pod(found)["securityContext"]["fsGroup"]),
    "volumes": lambda found: listed(f"`{one['name']}`" for one in _pod(found).get("volumes") or ()),
    "shared memory": lambda found: next(one["emptyDir"]["sizeLimit"] for one in _pod(found)["volumes"] if one["name"] == "shared-memory"),
    "strategy": lambda found: "{type}, surge {rollingUpdate[maxSurge]}, down {rollingUpdate[maxUnavailable]}".format(
        **found["spec"]["strategy"]
    ),
}


def _table(title: str, made: dict[str, Fields], rows: dict[str, Callable[[Fields], str]]) -> str:
    """A table with a column for each type; the worker types share one, because they are equal here."""
    kinds = [kind for kind in TYPES if kind not in WORKERS or kind == "worker"]
    heads = ["worker, prefill, decode" if kind == "worker" else kind for kind in kinds]
    for kind in ("prefill", "decode"):
        if any(read(made[kind]) != read(made["worker"]) for read in rows.values()):
            raise ValueError(f"{title} of {kind} and worker differ, so they need columns of their own")
    body = [[name, *(read(made[kind]) for kind in kinds)] for name, read in rows.items()]
    return f"\n## {title}\n\n" + grid(["", *heads], body)


def _environment(made: dict[str, Fields]) -> str:
    told = {kind: {one["name"]: _value(one) for one in _main(found)["env"]} for kind, found in made.items()}
    rows = []
    for name in sorted({name for one in told.values() for name in one}):
        values: dict[str, list[str]] = {}
        for kind in TYPES:
            if name in told[kind]:
                values.setdefault(told[kind][name], []).append(kind)
        for value, kinds in values.items():
            rows.append([f"`{name}`", value, "all" if len(kinds) == len(TYPES) else ", ".join(kinds)])
    more = (
        "\nThe operator's configuration adds `NATS_SERVER`, `ETCD_ENDPOINTS`, `MODEL_EXPRESS_URL` and `PROMETHEUS_ENDPOINT` if it has an\n"
        "address. Only Deployments and LeaderWorkerSets of graphs get the generation.\n"
    )
    return "\n## Environment\n\n" + grid(["variable", "value", "types"], rows) + more


def _value(entry: Fields) -> str:
    if entry.get("valueFrom"):
        return f"field `{entry['valueFrom']['fieldRef']['fieldPath']}`"
    return f"`{entry['value']}`" if entry.get("value") else "(empty)"


def _services() -> str:
    rows = []
    for kind in TYPES:
        found = next(one for one in _children(_graph(_component(kind))) if one["kind"] == "Service")
        port = found["spec"]["ports"][0]
        rows.append([kind, f"`{port['name']}`", str(port["port"]), f"`{port['targetPort']}`", port.get("appProtocol", "")])
    return "\n## Services\n\n" + grid(["type", "port", "number", "target", "protocol"], rows)


def _nodes() -> str:
    """The commands of leader and worker on two nodes, with a LeaderWorkerSet."""
    wide = ("--tensor-parallel-size", "16")
    spread = ("--tensor-parallel-size", "4", "--data-parallel-size", "4")
    cases = {
        "vLLM": _graph(_worker("vllm", *wide, multinode={"nodeCount": 2})),
        "vLLM, graph older than 1.0": _graph(_worker("vllm", *wide, multinode={"nodeCount": 2})),
        "vLLM, engines side by side": _graph(_worker("vllm", *spread, multinode={"nodeCount": 2})),
        "SGLang": _graph(_worker("sglang", "--tp", "16", multinode={"nodeCount": 2})),
    }
    cases["vLLM, graph older than 1.0"]["metadata"]["annotations"][ORIGIN_VERSION] = "0.9.0"
    rows = []
    for name, graph in cases.items():
        found = next(one for one in _children(graph, _USUAL._replace(lws=True)) if one["kind"] == "LeaderWorkerSet")["spec"][
            "leaderWorkerTemplate"
        ]
        for part in ("leader", "worker"):
            container = found[f"{part}Template"]["spec"]["containers"][0]
            rows.append([name if part == "leader" else "", part, words([*container["command"], *container["args"]])])
    more = (
        "\nTensorRT-LLM's leader starts all processes by `mpirun` once the workers' `sshd` can be reached. vLLM's multiprocessing workers\n"
        "wait in an init container until their leader listens. Only leaders keep their probes; TensorRT-LLM's workers get one of `sshd`.\n"
    )
    return "\n## Two nodes with eight GPUs each\n\n" + grid(["", "", "command"], rows) + more


def _trees() -> list[str]:
    plain = _graph(
        _component("frontend"),
        _component("planner"),
        _component(EPP),
        _worker("vllm", experimental={"gpuMemoryService": {}}, modelRef={"name": "org/model"}, scalingAdapter={}),
    )
    wide = _graph(_component("frontend"), _worker("vllm", "--tensor-parallel-size", "16", multinode={"nodeCount": 2}))
    titles = {
        "A graph with a planner, an endpoint picker, and workers that share GPUs, serve a named model and are scaled": _children(plain),
        "Workers on two nodes, with LeaderWorkerSet": _children(wide, _USUAL._replace(lws=True)),
        "The same on Grove": _children(wide, _USUAL._replace(grove=True)),
    }
    return [f"{title}:\n\n```text\n{_unnamed(tree(plain, children), _generation(children))}\n```\n\n" for title, children in titles.items()]


def _generation(children: list[Fields]) -> str:
    return next((str(mark) for one in children if (mark := (one["metadata"].get("labels") or {}).get(WORKER_HASH))), "")
