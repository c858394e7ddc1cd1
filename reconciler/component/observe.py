"""Reads the state of a component that a pass depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...kube.protocol import Node
from ..checkpoint.restoring import Choice, choose_restore, follow_failures, is_unlisted, pods_of, read_checkpoint_block
from ..common.keys import Key, key_of
from ..common.nesting import explain_cut
from ..common.resources import GRAPH
from ..engine.cluster_settings import read_facts, render_settings
from ..engine.passes import RETRY_SLOW, RETRY_UNLISTED, Refusal
from ..engine.work import Work
from ..render.children import direct_children
from ..render.errors import RenderError
from ..render.graph import nodes, replicas_in
from ..render.names import SELECTOR
from ..render.observed import NOTHING, Observed
from ..render.settings import Settings
from ..render.workload import read_graph_label
from ..workload.device_claims import read_claims
from ..workload.orchestrator import on_leader_worker_sets
from ..workload.pull_secrets import PullSecrets, observe_pull_secrets
from .children import is_of_a_graph, observe_component
from .status import FAILED, REFUSED, is_ready


class Seen(NamedTuple):
    """The state at the start of a pass."""

    component: Node
    settings: Settings = Settings()
    owned: Sequence[Any] = ()  # its children
    observed: Observed = NOTHING
    cold: Node | None = None  # the Deployment without a snapshot, if the component has a checkpoint
    choice: Choice = Choice()  # of the snapshot
    pull_secrets: PullSecrets | None = None


async def observe(work: Work, obj: Node) -> Seen | Refusal:
    """Read a component's state as far as its pass may act on it. Raises: ApiError, StandDownError."""
    wide, facts = on_leader_worker_sets(obj), read_facts(work.settings, work.known())
    refusal = explain_cut(obj)
    if not refusal and not is_of_a_graph(obj):  # one of a graph was judged with that
        refusal = work.judge.refusal(obj, facts._replace(lws=True) if wide else facts)
    if refusal:
        return Refusal(REFUSED, refusal)
    settings = render_settings(work.settings, work.known(), work.cache, obj["metadata"]["namespace"])
    if read_checkpoint_block(obj) is not None and is_unlisted(work, settings):
        return Refusal("", "", RETRY_UNLISTED)
    spec = obj.get("spec") or {}
    claims = await read_claims(work, [spec] if nodes(spec) > 1 else [], obj["metadata"]["namespace"])
    settings = settings._replace(lws=settings.lws or wide, claims=claims)
    graph, owned = work.cache.get(Key(GRAPH, key_of(obj).namespace, read_graph_label(obj))), work.cache.owned(obj)
    observed = observe_component(obj, owned, beside_graph=graph is not None)
    try:
        seen = await _observe_restore(work, Seen(obj, settings, owned, observed))
    except RenderError as error:
        return Refusal(FAILED, str(error), RETRY_SLOW)
    return seen._replace(pull_secrets=observe_pull_secrets(work, obj))


async def _observe_restore(work: Work, seen: Seen) -> Seen:
    """Read what the pods of a component with a checkpoint are restored from. Costs one more render. Raises: ApiError, RenderError."""
    obj, settings = seen.component, seen.settings
    if read_checkpoint_block(obj) is None:
        return seen
    cold = next((one for one in direct_children(obj, settings, seen.observed).children if one["kind"] == "Deployment"), None)
    choice = await choose_restore(work, obj, pods_of(work, cold) if cold is not None else None, settings)
    if cold is not None and (live := work.cache.get(key_of(cold))) is not None:
        labels, replicas = f"{SELECTOR}={key_of(cold).name}", replicas_in(live.get("spec") or {})
        choice = await follow_failures(work, obj, choice, labels, replicas, ready=is_ready(live))
    return seen._replace(cold=cold, choice=choice)
