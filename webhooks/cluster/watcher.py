"""The watching: Leases, ClusterTopologies and API groups are kept up to date, and every change is reported as facts. No process here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...api.operator.scope import ScopeSettings
from ...kube.capability import DRA, GROVE, ISTIO, LWS, POOLS, Detector
from ...kube.clocks import LOCAL, Clocks
from ...kube.protocol import Cluster, Node
from ...kube.reflector import Reflector, WatchState
from ...kube.resources import LEASES
from ...kube.scope import LEASE_NAME, Claims
from .observed_facts import CAPABILITIES, Observed, facts_of, list_missing, read_topology_domains, topologies_of

_LOG: Final = logging.getLogger("webhooks.cluster")
TICK_SECONDS: Final = 0.5  # between two looks at what has changed without an event: a claim that ran out, a watch that broke
REPORT_SECONDS: Final = 10.0  # between two reports when nothing changes
RELIST_SECONDS: Final = 300.0
GROUPS_SECONDS: Final = 20.0  # between two questions for the served API groups, which cost an API server next to nothing


class Watcher:
    """Watches one cluster and reports facts; known facts stay while the cluster can't be reached."""

    def __init__(
        self,
        cluster: Cluster,
        scope: ScopeSettings,
        told: Mapping[str, Any],
        report: Callable[[dict[str, Any]], None],
        refused: Callable[[], str] = lambda: "",
        clocks: Clocks = LOCAL,
    ) -> None:
        """`told` are facts that override the cluster's; `report` takes each report; `refused` returns why this operator must not work."""
        self._clocks = clocks
        self.claims = Claims(scope)
        self._told, self._report, self._refused = told, report, refused
        self._leases = Reflector(cluster, LEASES, name=LEASE_NAME, relist=RELIST_SECONDS, clocks=clocks)
        self._topologies = Reflector(cluster, topologies_of(told), relist=RELIST_SECONDS, clocks=clocks)
        self._groups = Detector(cluster, (GROVE, POOLS, LWS, DRA, ISTIO), ask_permission=False, interval=GROUPS_SECONDS, clocks=clocks)
        self._last: dict[str, Any] = {}
        self._reported = clocks.monotonic()
        self._missing: list[str] = []
        self._leases.subscribe(self._lease)
        self._topologies.subscribe(lambda _old, _new: self.look())
        self._groups.subscribe(lambda _known: self.look())

    async def run(self) -> None:
        """Watch until cancelled; a restricted operator ignores claims."""
        async with asyncio.TaskGroup() as tasks:
            if not self.claims.scope.restricted:
                tasks.create_task(self._leases.run())
            tasks.create_task(self._topologies.run())
            tasks.create_task(self._groups.run())
            while True:
                self.look()
                await self._clocks.sleep(TICK_SECONDS)

    def look(self) -> None:
        """Reports when something is different, or nothing was reported for a while; not before every source has spoken or failed."""
        now = self._clocks.monotonic()
        (self.claims.regained if self._leases.state is WatchState.SYNCED else self.claims.lost)(now)
        if not self._last and not self._settled():
            return
        observed = self._observed(now)
        found = {"facts": facts_of(self._told, observed), "refused": self._refused()}
        if found != self._last or now - self._reported >= REPORT_SECONDS:
            self._last, self._reported = found, now
            self._report({**found, "stale": self._stale()})
        lacking = list_missing(self._told, observed)
        if lacking and lacking != self._missing:
            _LOG.error("switched on by the configuration, but its API group is not served: %s", ", ".join(lacking))
        self._missing = lacking

    def _observed(self, now: float) -> Observed:
        served = {fact: self._groups.known[name].served for name, fact in CAPABILITIES.items()}
        return Observed(
            {fact: value for fact, value in served.items() if value is not None},
            {key[1]: read_topology_domains(topology) for key, topology in self._topologies.store.items()}
            if self._topologies.synced.is_set()
            else None,
            self._topologies.state is WatchState.ABSENT,
            self.claims.excluded(now) if self._leases.synced.is_set() else None,
        )

    def _settled(self) -> bool:
        """Whether the first report can be made: each source has an answer, or a reason for having none."""
        leases = self.claims.scope.restricted or self._leases.state is not WatchState.STARTING
        groups = self._groups.stale_seconds() is not None or self._groups.reason
        return bool(leases and groups and self._topologies.state is not WatchState.STARTING)

    def _stale(self) -> dict[str, float | None]:
        """Seconds since each source was last known to be whole; None when it never was."""
        return {
            "scope_watch": 0.0 if self.claims.scope.restricted else self._leases.stale_seconds(),
            "topology_watch": self._topologies.stale_seconds(),
            "api_groups": self._groups.stale_seconds(),
        }

    def _lease(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self.claims.seen(new, self._clocks.monotonic(), self._clocks.wall())
        elif old is not None:
            self.claims.gone(old["metadata"].get("namespace", ""))
        self.look()
