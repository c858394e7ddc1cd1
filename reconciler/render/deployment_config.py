"""The variable DYN_DEPLOYMENT_CONFIG, older tools' sizes of components as JSON. Not used on Grove."""

from __future__ import annotations

import json
from typing import Any, Final

from ...api.paths import Path
from ...api.quantity import is_quantity
from ...conversion.lens.protocol import Fields
from .errors import RenderError
from .framework import main_of, path_of_main
from .graph import Member
from .merge import as_map, object_items
from .names import FRONTEND, HTTP_PORT

VARIABLE: Final = "DYN_DEPLOYMENT_CONFIG"
_AMOUNTS: Final = {"cpu": "cpu", "memory": "memory", "gpu": "nvidia.com/gpu"}


def apply_deployment_config(member: Member, spec: Fields) -> None:
    """Apply the variable to a component's spec, in place: a frontend's port, replicas, requests and limits.

    Raises: RenderError if it is not a JSON object, or an amount is invalid.
    """
    main = main_of(spec)
    entry = next((one for one in object_items(main.get("env")) if one.get("name") == VARIABLE and one.get("value")), None)
    if entry is None:
        return
    path = _path(member)
    config = _read(str(entry["value"]), path)
    if member.type == FRONTEND:
        called = _frontend(config, member.name)
        if called:
            config[called]["port"] = HTTP_PORT
            text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            # the entry may be the graph's, which other components share
            main["env"] = [{**one, "value": text} if one is entry else one for one in object_items(main.get("env"))]
    arguments = _block(config.get(member.name), "ServiceArgs")
    if isinstance(arguments.get("workers"), int) and spec.get("replicas") is None:
        spec["replicas"] = arguments["workers"]
    amounts = _amounts(_block(arguments, "resources"), path)
    if amounts:
        resources = main.get("resources") or {}
        main["resources"] = {**resources, **{part: {**(resources.get(part) or {}), **amounts} for part in ("limits", "requests")}}


def _path(member: Member) -> Path:
    """The variable's path: in the component's main container, else in the graph."""
    own = [one.get("name") for one in object_items(main_of(member.fields).get("env"))]
    return (*path_of_main(member.fields, member.path), "env", own.index(VARIABLE), "value") if VARIABLE in own else ("spec", "env")


def _read(text: str, path: Path) -> dict[str, Any]:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        raise RenderError(path, f"{VARIABLE} of the main container must be a JSON object keyed by component")
    return config


def _frontend(config: dict[str, Any], name: str) -> str:
    """The key of a frontend's entry: its name, else `frontend` in any case."""
    named = [key for key in config if key == name] or sorted(key for key in config if key.lower() == FRONTEND)
    return next((key for key in named if isinstance(config[key], dict)), "")


def _block(value: Any, name: str) -> Fields:
    return as_map(as_map(value).get(name))


def _amounts(resources: Fields, path: Path) -> dict[str, str]:
    found = {_AMOUNTS[name]: resources[name] for name in _AMOUNTS if resources.get(name)}
    found |= _block(resources, "custom")
    for name, amount in found.items():
        if not is_quantity(amount):
            raise RenderError(path, f"{VARIABLE} of the main container must hold quantities, got {str(amount)[:40]!r} for {name[:80]}")
    return {name: str(amount) for name, amount in found.items()}
