"""Plays the recorded passes of controllers: objects as they were, so many passes, and the conditions that came of them."""

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest

from dynamo_webhooks.kube.protocol import Node
from dynamo_webhooks.reconciler.common.problems import PassResult
from dynamo_webhooks.reconciler.common.resources import resource_of
from dynamo_webhooks.reconciler.engine.context import Context
from dynamo_webhooks.reconciler.engine.controller import Controller
from tests.reconciler.site import Site


async def store(site: Site, obj: Node) -> None:
    """Stores an object with its status and generation, and has one that was being deleted deleted."""
    made, name, namespace = copy.deepcopy(obj), obj["metadata"]["name"], obj["metadata"].get("namespace", "")
    resource = replace(resource_of(obj), namespaced=bool(namespace))
    deleted = made["metadata"].pop("deletionTimestamp", None)
    await site.user.create(resource, made, namespace)
    record = site.storage.records[resource.group, resource.plural, namespace, name]
    record.obj |= {"status": copy.deepcopy(obj["status"])} if obj.get("status") else {}
    record.obj["metadata"] |= {"generation": obj["metadata"]["generation"]} if "generation" in obj["metadata"] else {}
    if deleted:
        await site.user.delete(resource, name, namespace)


def limit(patch: pytest.MonkeyPatch, controller: type[Controller], passes: int, counts: Callable[[Node], bool]) -> None:
    """Lets so many passes over objects that count do something, and none over others."""
    left, inner = [passes], controller.reconcile

    async def limited(self: Controller, context: Context, obj: Node) -> PassResult:
        if not counts(obj) or not left[0]:
            return PassResult()
        left[0] -= 1
        return await inner(self, context, obj)

    patch.setattr(controller, "reconcile", limited)


def list_differences(expected: Node, actual: Node) -> list[str]:
    """How the recorded conditions of a status and ours of the same types differ."""
    parts = ("status", "reason", "message")
    theirs, ours = ({entry["type"]: [entry[part] for part in parts] for entry in each.get("conditions", ())} for each in (expected, actual))
    ours = {kind: words for kind, words in ours.items() if kind in theirs}
    return [] if theirs == ours else [f"conditions: {ours}"]
