"""The controller of pull secrets: their registries are read, and an unreadable one is reported."""

from collections.abc import Iterable
from typing import Final

from ...api.operator.controllers import LABELLED, NONE
from ...kube.protocol import Node
from ...kube.resources import SECRETS
from ..common.keys import Key, key_of
from ..common.problems import PassResult
from ..common.resources import COMPONENT, GRAPH, PULL_SECRET, SECRET
from ..engine.cache import Cache
from ..engine.context import Context
from ..engine.controller import Controller
from ..engine.queue import Cause
from ..engine.watch import Change, Watch
from ..render.pod.registries import DOCKER_CONFIG, DOCKER_FILE, MAX_ADDRESSES
from ..workload.pull_secrets import ADDRESSES, trim_secret

UNREADABLE: Final = "PullSecretUnreadable"


def _watch(selections: tuple[tuple[str, str], ...], *, labelled: bool) -> Watch:
    return Watch(
        SECRETS,
        selections,
        when=lambda configuration, _: configuration.secrets.pull != NONE and labelled == (configuration.secrets.pull == LABELLED),
        trim=trim_secret,
        namespaces=lambda configuration: configuration.pull_secret_namespaces,
        cause=Cause.RESYNC,
    )


class PullSecretController(Controller):
    """Watches the Secrets that the configuration opts into; with `none` no request for a Secret is made."""

    kind = SECRET
    watches = (
        _watch(((f"{PULL_SECRET}=true", ""),), labelled=True),
        _watch((("", f"type={DOCKER_CONFIG}"), ("", f"type={DOCKER_FILE}")), labelled=False),
    )

    def keys_of(self, change: Change, cache: Cache) -> Iterable[Key]:
        """The Secret, and what has pods in its namespace."""
        if change.key.kind != SECRET or (change.exists and not change.differs(lambda obj: (obj or {}).get(ADDRESSES))):
            return ()
        return [change.key, *(key_of(obj) for kind in (GRAPH, COMPONENT) for obj in cache.all(kind, change.key.namespace))]

    async def reconcile(self, context: Context, obj: Node) -> PassResult:
        """Record an Event on a Secret that has no effect; others have theirs."""
        if obj.get(ADDRESSES) is None:
            wanted = f"must hold at most {MAX_ADDRESSES} registries, as in a Secret of type {DOCKER_CONFIG}"
            text = f"data: {wanted}; only pods that name this Secret get it"
            await context.record_event(obj, "Warning", UNREADABLE, text)
        return PassResult()
