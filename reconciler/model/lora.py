"""A LoRA adapter as a model asks for it: its name in a URL, which model owns it, and which names were loaded before."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote

from ...kube.protocol import Node

LORA: Final = "lora"
LOADED: Final = "webhooks.nvidia.com/loaded"  # annotation: JSON, name -> digest of the source it was loaded from
MAX_LOADED_NAMES: Final = 8  # in that annotation at most
_PLAIN: Final = "!$&'()*+,;=:@~"  # what needs no escape within a segment of a path, RFC 3986


class Lora(NamedTuple):
    """The adapter that must be loaded on each pod."""

    name: str
    uri: str

    @property
    def digest(self) -> str:
        """A digest that distinguishes sources."""
        return hashlib.sha256(self.uri.encode()).hexdigest()[:8]


class WantedAdapter(NamedTuple):
    """The adapters that the pods of a model load and unload."""

    lora: Lora
    stale: tuple[str, ...] = ()  # names of earlier adapters, to be unloaded
    replace: bool = False  # whether the adapter was loaded from another source, so that it is unloaded first
    unload: bool = False  # whether the model is being deleted


class LoadProgress(NamedTuple):
    """The progress of loading, or unloading, a `WantedAdapter`."""

    ready: frozenset[str]  # uids of the pods that have loaded, or unloaded, the adapter
    failures: tuple[tuple[str, str], ...]  # pods and the last errors of their workers, in the order of the pods
    busy: bool  # whether calls are under way or queued
    clean: bool  # whether all callable pods have loaded the adapter and unloaded all others


class InvalidNameError(ValueError):
    """A name that would call another path than its own."""


def is_lora(model: Node) -> bool:
    """Whether a model is an adapter that is loaded; in any case of letters, as stored objects of the Go operator may have it."""
    return str((model.get("spec") or {}).get("modelType") or "").lower() == LORA


def lora_of(model: Node) -> Lora:
    """The adapter of a model; an empty uri where it names no source."""
    spec = model.get("spec") or {}
    return Lora(str(spec.get("modelName") or ""), str((spec.get("source") or {}).get("uri") or ""))


def escape_name(name: str) -> str:
    """The name as the end of a path: each segment escaped. Raises: InvalidNameError for a segment that is empty, `.` or `..`."""
    segments = name.split("/")
    if {"", ".", ".."}.intersection(segments):
        raise InvalidNameError(f"modelName: must hold no empty segment, `.` or `..` between slashes, got {json.dumps(name)}")
    if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in name):
        raise InvalidNameError(f"modelName: must hold no control characters, got {json.dumps(name)}")
    return "/".join(quote(segment, safe=_PLAIN) for segment in segments)


def read_names(model: Node) -> dict[str, str]:
    """Reads which names were loaded for a model, and from which source; text that this project didn't write counts as none."""
    text = (model["metadata"].get("annotations") or {}).get(LOADED) or ""
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(names, dict):
        return {}
    return {name: digest for name, digest in list(names.items())[:MAX_LOADED_NAMES] if isinstance(digest, str)}


def encode_names(names: Mapping[str, str]) -> str | None:
    """The annotation's value, the newest names; None for no annotation."""
    newest = dict(list(names.items())[-MAX_LOADED_NAMES:])
    return json.dumps(newest, ensure_ascii=False, separators=(",", ":")) if newest else None


def adapter_of(model: Node) -> tuple[str, str, str]:
    """Returns the identity of a model's adapter, which no two models may load: namespace, base model and name of the adapter."""
    spec = model.get("spec") or {}
    return str(model["metadata"].get("namespace") or ""), str(spec.get("baseModelName") or ""), lora_of(model).name


def owner_of(model: Node, same: Iterable[Node]) -> Node:
    """The model that loads an adapter which several ask for: the oldest one that isn't being deleted."""
    alive = (candidate for candidate in same if is_lora(candidate) and not candidate["metadata"].get("deletionTimestamp"))
    return min(
        alive,
        key=lambda candidate: (str(candidate["metadata"].get("creationTimestamp") or ""), str(candidate["metadata"]["name"])),
        default=model,
    )
