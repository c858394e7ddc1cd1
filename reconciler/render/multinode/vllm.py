"""vLLM on several nodes: one engine by Ray, or by multiprocessing, whose workers wait for their leader; engines side by side; elastic."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from ....conversion.lens.protocol import Fields
from ....policies.frameworks import VLLM, list_words
from ..framework import add_flags, has_flag, join_shell, read_flag
from ..graph import Graph
from ..merge import object_items, put_named
from ..names import GRAPH_NAME, ORIGIN_VERSION, SYSTEM_PORT, VLLM_EXECUTOR
from ..objects import make_child
from .role import Role

_MASTER_PORT: Final = 29500
_RAY_PORT: Final = 6379
_DATA_PORT: Final = 13445
_VERSION: Final = re.compile(r"v?(0|[1-9]\d*)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII)
_DATA_SIZE: Final = "--data-parallel-size"
_SCRIPT: Final = "wait-for-leader.py"
_SCRIPTS: Final = "wait-leader-script"  # the volume with it
_FOLDER: Final = "/scripts"
_PORT: Final = re.compile(r"--master-port[ =]([0-9]{1,5})(?![0-9])", re.ASCII)
_SPANS: Final = ("--nnodes", "--node-rank", "--master-addr")  # flags of a call that spans nodes
_OTHER_BACKEND: Final = re.compile(r"--distributed-executor-backend[ =](?!mp\b)")
_REFERENCE: Final = re.compile(r"\$\((\w+)\)", re.ASCII)


def change_main(main: Fields, role: Role, hints: Mapping[str, str], gpus: int) -> None:
    """Change the main container of one node with its GPUs, in place. The hints are annotations: the mode, or the graph's version."""
    across = read_flag(main, "--tensor-parallel-size") * read_flag(main, "--pipeline-parallel-size")
    by_processes = uses_processes(hints)
    if gpus and across > gpus:
        if by_processes:
            _by_processes(main, role.by_names() if names_roles(hints) else role)
        else:
            _by_ray(main, role)
    elif has_flag(main, "--enable-elastic-ep"):
        _elastic(main, role)
    elif gpus and across * read_flag(main, _DATA_SIZE) > gpus:
        _side_by_side(main, role, gpus // across)
    if by_processes:
        give_address(main)


def give_address(main: Fields) -> None:
    """Give the main container, in place, a variable with the address by which other engines reach it."""
    put_named(main, "env", {"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})


def uses_processes(hints: Mapping[str, str]) -> bool:
    """Whether nodes use multiprocessing, not Ray: by annotation, else for graphs created by 1.0 or later."""
    executor = hints.get(VLLM_EXECUTOR, "").lower()
    if executor in ("mp", "ray"):
        return executor == "mp"
    return _is_since(hints, (1, 0, 0))


def names_roles(hints: Mapping[str, str]) -> bool:
    """Whether nodes know rank and leader by variables of the same names on every orchestrator: for graphs created by 1.6 or later."""
    return _is_since(hints, (1, 6, 0))


def _is_since(hints: Mapping[str, str], least: tuple[int, ...]) -> bool:
    version = _VERSION.fullmatch(hints.get(ORIGIN_VERSION, ""))
    if version is None:
        return False
    numbers = tuple(int(version[part]) for part in (1, 2, 3))
    return numbers > least or (numbers == least and version[4] is None)


def _by_processes(main: Fields, role: Role) -> None:
    flags = f"--distributed-executor-backend mp --nnodes {role.nodes} --master-addr {role.host} --master-port {_MASTER_PORT}"
    flags += f" --node-rank {role.rank}"
    add_flags(main, flags if role.leader else f"{flags} --headless", VLLM, shell=role.needs_shell)


def _by_ray(main: Fields, role: Role) -> None:
    # a user's shell line can't be appended to another command by joining words; as in the Go operator
    leads = f"ray start --head --port={_RAY_PORT} && {join_shell(list_words(main))} --distributed-executor-backend ray"
    _in_shell(main, leads if role.leader else _join(role))


def start_ray(main: Fields) -> None:
    """Start Ray beside the engine of a main container, in place."""
    _in_shell(main, f"{_LOCAL_RAY} && {join_shell(list_words(main))}")


def _elastic(main: Fields, role: Role) -> None:
    if role.leader:
        start_ray(main)
    else:
        _in_shell(main, f"{_leader_lives(role)} && {_join(role)}")


def _side_by_side(main: Fields, role: Role, engines: int) -> None:
    size = "" if has_flag(main, _DATA_SIZE) else f" {_DATA_SIZE} {engines * role.nodes}"
    first = "0" if role.leader else f"$(( {engines} * {role.reckoned} ))"
    flags = (
        f"--data-parallel-hybrid-lb{size} --data-parallel-size-local {engines} --data-parallel-start-rank {first}"
        f" --data-parallel-address {role.host} --data-parallel-rpc-port {_DATA_PORT}"
    )
    add_flags(main, flags, VLLM, shell=not role.leader)


def _in_shell(main: Fields, line: str) -> None:
    main["command"], main["args"] = ["/bin/sh", "-c"], [line]


def _join(role: Role) -> str:
    return f"ray start --address={role.host}:{_RAY_PORT} --block"


def _retry(attempt: str, times: int, pause: int, failure: str) -> str:
    """A shell line that retries until success, a limited number of times."""
    return (
        f"{{ tries=0; until {attempt}; do tries=$((tries + 1)); "
        f'if [ "$tries" -ge {times} ]; then echo "{failure}" >&2; exit 1; fi; sleep {pause}; done; }}'
    )


_LISTENS: Final = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {_RAY_PORT}), 2)' 2> /dev/null"
_LOCAL_RAY: Final = f"{{ ray start --head --port={_RAY_PORT} --block & }} && {_retry(_LISTENS, 150, 2, 'Ray has not started')}"


def _leader_lives(role: Role) -> str:
    url = f"http://{role.host}:{SYSTEM_PORT}/live"
    asks = f"python3 -c 'import urllib.request as u; u.urlopen(\"{url}\", timeout=5)' 2> /dev/null"
    return _retry(asks, 720, 15, "the leader does not answer")


def make_config_maps(graph: Graph) -> list[Fields]:
    """The ConfigMap for a graph with a multinode component of any framework."""
    if all(member.nodes == 1 for member in graph.members):
        return []
    name, marks, data = _name(graph.name), {GRAPH_NAME: graph.name}, {_SCRIPT: _script()}
    return [make_child("v1", "ConfigMap", name, labels=marks, owner=graph.object, data=data)]


def give_port(main: Fields) -> None:
    """Give an engine with multiprocessing that its author starts, in place, the port at which nodes find their leader, unless set."""
    if not _spans_nodes(main) or _PORT.search(" ".join(list_words(main))):
        return
    flag = f"--master-port={_MASTER_PORT}"
    if main.get("command"):
        add_flags(main, flag, VLLM)
    else:  # the image's own command
        main["args"] = [*(main.get("args") or ()), flag]


def _spans_nodes(main: Fields) -> bool:
    """Whether a call that its author wrote is one of an engine on several nodes, with multiprocessing."""
    text = " ".join(list_words(main))
    return any(flag in text for flag in _SPANS) and _OTHER_BACKEND.search(text) is None


def change_pod(spec: Fields, main: Fields, role: Role, parent: str, *, by_author: bool) -> None:
    """Let a worker node with multiprocessing wait, in place, until its leader listens."""
    text = " ".join(list_words(main))
    ports = _PORT.findall(text) if not by_author or _spans_nodes(main) else []
    if role.leader or not ports or (not by_author and "--distributed-executor-backend mp" not in text):
        return
    host = _REFERENCE.sub(r"${\1}", role.host)
    line = f'export LEADER_HOST="{host}" LEADER_PORT="{ports[-1]}" && exec python3 {_FOLDER}/{_SCRIPT}'
    container = {
        "name": "wait-for-leader-mp",
        **({"image": main["image"]} if main.get("image") else {}),
        "command": ["sh", "-c", line],
        "volumeMounts": [{"name": _SCRIPTS, "mountPath": _FOLDER, "readOnly": True}],
    }
    spec["initContainers"] = [*object_items(spec.get("initContainers")), container]
    put_named(spec, "volumes", {"name": _SCRIPTS, "configMap": {"name": _name(parent)}})


def _name(parent: str) -> str:
    return f"{parent}-{_SCRIPTS}"


@cache
def _script() -> str:
    return files("dynamo_webhooks.reconciler.render.multinode").joinpath("wait_for_leader.py").read_text(encoding="utf-8")
