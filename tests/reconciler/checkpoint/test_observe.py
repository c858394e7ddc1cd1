"""A pass writes only what it decided: observing writes neither a claim nor an annotation."""

import dataclasses
import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dynamo_webhooks.kube.resources import CLAIMS
from dynamo_webhooks.reconciler.checkpoint.restore_condition import MARK
from dynamo_webhooks.reconciler.common.resources import COMPONENTS, MADE, OPTIONAL
from dynamo_webhooks.reconciler.engine.work import Work
from tests.reconciler.checkpoint.objects import checkpoint
from tests.reconciler.checkpoint.test_restore_failures import READY, _graph, _held, _make, _pod
from tests.reconciler.checkpoint.test_snapshots import RESTORING, scene
from tests.reconciler.site import NAMESPACE, clique_of

WRITES = frozenset({"create", "replace", "json_patch", "merge_patch", "apply", "delete", "put", "drop", "resize"})
CREATED = RESTORING.replace("pvcName: snaps", "pvcName: made, create: true, size: 1Gi")


class ReadOnly:
    """Anything that reads and writes, without its writes."""

    def __init__(self, found: object) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        assert name not in WRITES, f"{name} while observing"
        return getattr(self._found, name)


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds that were observed, each without the ability to write."""
    seen: list[str] = []

    def wrapped(kind: str, observe: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def reading(work: Work, *args: Any) -> Any:
            seen.append(kind)
            changed: Any = {"cluster": ReadOnly(work.cluster), "writer": ReadOnly(work.writer)}
            return await observe(dataclasses.replace(work, **changed), *args)

        return reading

    for kind in ("checkpoint", "component", "graph"):
        module = importlib.import_module(f"dynamo_webhooks.reconciler.{kind}.reconcile")
        monkeypatch.setattr(module, "observe", wrapped(kind, module.observe))
    return seen


async def test_a_component_gives_up_a_snapshot_and_has_its_claim_made(observed: list[str]) -> None:
    async with scene(_graph(1), CREATED, {**checkpoint("ck"), "status": READY}) as site:
        assert "made" in await site.all(CLAIMS)
        template = await _held(site, 1)
        await _make(site, _pod(template, "p"))
        await site.later(65)
        [component] = (await site.all(COMPONENTS)).values()
        assert MARK in component["metadata"]["annotations"]
        assert {*observed} == {"checkpoint", "component", "graph"}


async def test_a_graph_on_grove_gives_up_a_snapshot_and_has_its_claim_made(observed: list[str]) -> None:
    grove, clique = OPTIONAL["grove"], MADE["grove"][0][0]
    async with scene(_graph(1), CREATED, {**checkpoint("ck"), "status": READY}, grove=True) as site:
        assert "made" in await site.all(CLAIMS)
        [made] = (await site.all(grove)).values()
        [template] = made["spec"]["template"]["cliques"]
        await site.kubelet.create(clique, clique_of(made, template), NAMESPACE)
        await _make(site, _pod({"metadata": template}, "p"))
        await site.later(65)
        assert f"{MARK}.worker" in (await site.graph())["metadata"]["annotations"]
        assert {*observed} == {"checkpoint", "graph"}
