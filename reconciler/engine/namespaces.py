"""The namespaces to reconcile: all or the allowed ones, except those that other operators claim."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from ...api.operator.scope import ScopeSettings
from ...kube.clocks import LOCAL, Clocks
from ...kube.protocol import Cluster, Node
from ...kube.reflector import MergedReflector, Reflector, WatchState
from ...kube.resources import LEASES
from ...kube.scope import LEASE_NAME, Claims

LOG: Final = logging.getLogger("reconciler.territory")
TICK_SECONDS: Final = 1.0  # seconds between checks for expired claims
RELIST_SECONDS: Final = 300.0


class WatchedNamespaces:
    """Watches the Leases of other operators. While they are unknown, this reconciler governs no namespace and writes nothing."""

    def __init__(
        self,
        cluster: Cluster,
        scope: ScopeSettings,
        namespaces: Sequence[str],
        regained: Callable[[str], None],
        *,
        clocks: Clocks = LOCAL,
    ) -> None:
        """`namespaces` are the candidates, an empty name all. `regained` is called with each namespace whose claim ended."""
        self.excluded: frozenset[str] = frozenset()
        self._scope, self._namespaces, self._regained = scope, namespaces, regained
        self._clocks, self._clock = clocks, clocks.monotonic
        self._claims = Claims(scope)
        self._leases = MergedReflector(
            namespaces, lambda namespace: Reflector(cluster, LEASES, namespace, name=LEASE_NAME, relist=RELIST_SECONDS, clocks=clocks)
        )
        self._leases.subscribe(self._on_lease)

    @property
    def known(self) -> bool:
        """Whether the claims have been listed, if they matter."""
        return bool(self._scope.restricted) or self._leases.synced.is_set()

    @property
    def reason(self) -> str:
        """The reason why the claims have not been listed."""
        return self._leases.reason

    def governs(self, namespace: str) -> bool:
        """Whether a namespace may be reconciled."""
        if "" not in self._namespaces and namespace not in self._namespaces:
            return False
        return self.known and self._claims.governs(namespace, self._clock())

    async def run(self) -> None:
        """Watch until cancelled; a restricted operator ignores claims."""
        if self._scope.restricted:
            return
        watch = asyncio.ensure_future(self._leases.run())
        try:
            while True:
                heard = self._leases.state is WatchState.SYNCED
                (self._claims.resume if heard else self._claims.suspend)(self._clock())
                self._update_excluded()
                await self._clocks.sleep(TICK_SECONDS)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    def _on_lease(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self._claims.observe(new, self._clock(), self._clocks.wall())
        elif old is not None:
            self._claims.forget(old["metadata"].get("namespace", ""))
        self._update_excluded()

    def _update_excluded(self) -> None:
        now = self._claims.excluded(self._clock())
        before, self.excluded = self.excluded, now
        for namespace in sorted(before - now):
            LOG.info("namespace %s is ours again", namespace)
            self._regained(namespace)
        for namespace in sorted(now - before):
            LOG.info("namespace %s is claimed by another operator, and left alone", namespace)
