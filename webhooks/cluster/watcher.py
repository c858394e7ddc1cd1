"""The watching: facts of the cluster, the serving certificate and offers of snapshots are kept up to date and reported. No process here."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ...admission.new_pods import OFFER, read_offers
from ...api.operator.scope import ScopeSettings
from ...certs.names import TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY, USABLE
from ...kube.capability import DRA, GROVE, ISTIO, LWS, POOLS, Detector
from ...kube.clocks import LOCAL, Clocks
from ...kube.protocol import Cluster, Node
from ...kube.reflector import Reflector, WatchState
from ...kube.resources import CONFIG_MAPS, LEASES, SECRETS, resource_of_kind
from ...kube.scope import LEASE_NAME, Claims
from .observed_facts import CAPABILITIES, ObservedFacts, facts_of, list_missing, read_domains, topologies_of

_LOG: Final = logging.getLogger("webhooks.cluster")
# between two looks at what has changed without an event: a claim that ran out, a watch that broke, a permission that is missing
TICK_SECONDS: Final = 0.5
REPORT_SECONDS: Final = 10.0  # between two reports when nothing changes
RELIST_SECONDS: Final = 300.0
GROUPS_SECONDS: Final = 20.0  # between two questions for the served API groups, which cost an API server next to nothing
Report: TypeAlias = "Callable[[dict[str, Any]], None]"
_GATHER_SECONDS: Final = 0.05
_METADATA: Final = ("name", "namespace", "resourceVersion", "deletionTimestamp")


class Watcher:
    """Watches Leases, ClusterTopologies and API groups, and reports facts; known ones stay while the cluster can't be reached."""

    def __init__(self, cluster: Cluster, scope: ScopeSettings, stated: Mapping[str, Any], report: Report, clocks: Clocks = LOCAL) -> None:
        """`stated` are facts that override the cluster's; `report` takes each report."""
        self._clocks = clocks
        self.claims = Claims(scope)
        self._stated, self._report = stated, report
        self.refused = ""  # why this operator must not work
        self._leases = Reflector(cluster, LEASES, name=LEASE_NAME, relist=RELIST_SECONDS, clocks=clocks)
        self._topologies = Reflector(cluster, topologies_of(stated), relist=RELIST_SECONDS, clocks=clocks)
        self._groups = Detector(cluster, (GROVE, POOLS, LWS, DRA, ISTIO), ask_permission=False, interval=GROUPS_SECONDS, clocks=clocks)
        self._last: dict[str, Any] = {}
        self._reported = clocks.monotonic()
        self._missing: list[str] = []
        self._unnamed: frozenset[str] = frozenset()
        self._leases.subscribe(self._lease)
        self._topologies.subscribe(lambda _old, _new: self.report_changes())
        self._groups.subscribe(lambda _known: self.report_changes())

    async def run(self) -> None:
        """Watch until cancelled; a restricted operator ignores claims."""
        async with asyncio.TaskGroup() as tasks:
            if not self.claims.scope.restricted:
                tasks.create_task(self._leases.run())
            tasks.create_task(self._topologies.run())
            tasks.create_task(self._groups.run())
            while True:
                self.report_changes()
                await self._clocks.sleep(TICK_SECONDS)

    def report_changes(self) -> None:
        """Reports when something is different, or nothing was reported for a while; not before every source has spoken or failed."""
        now = self._clocks.monotonic()
        (self.claims.resume if self._leases.state is WatchState.SYNCED else self.claims.suspend)(now)
        if not self._last and not self._is_settled():
            return
        observed = self._observe(now)
        report = {"facts": facts_of(self._stated, observed), "refused": self.refused}
        if report != self._last or now - self._reported >= REPORT_SECONDS:
            self._last, self._reported = report, now
            self._report({**report, "stale": self._stale()})
        unnamed = self.claims.excluded(now) - self.claims.exempt(now)
        for namespace in sorted(unnamed - self._unnamed):
            _LOG.warning("namespace %s is claimed by a Lease, but rules apply: namespace.scope.claimable doesn't name it", namespace)
        self._unnamed = unnamed
        lacking = list_missing(self._stated, observed)
        if lacking and lacking != self._missing:
            _LOG.error("switched on by the configuration, but its API group is not served: %s", ", ".join(lacking))
        self._missing = lacking

    def _observe(self, now: float) -> ObservedFacts:
        served = {fact: self._groups.known[name].served for name, fact in CAPABILITIES.items()}
        return ObservedFacts(
            {fact: value for fact, value in served.items() if value is not None},
            {key[1]: read_domains(topology) for key, topology in self._topologies.store.items()}
            if self._topologies.synced.is_set()
            else None,
            self._topologies.state is WatchState.ABSENT,
            self.claims.exempt(now) if self._leases.synced.is_set() else None,
        )

    def _is_settled(self) -> bool:
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
            self.claims.observe(new, self._clocks.monotonic(), self._clocks.wall())
        elif old is not None:
            self.claims.forget(old["metadata"].get("namespace", ""))
        self.report_changes()


class SecretWatch:
    """Reports `{"delivery": ...}` at once and after each change. Reports hold a private key: never log them."""

    def __init__(self, cluster: Cluster, names: Mapping[str, str], report: Report) -> None:
        """`names` are `namespace`, `secret` and `trust`."""
        where = names["namespace"]
        self._names, self._report = names, report
        self._secret = Reflector(cluster, SECRETS, where, name=names["secret"])
        self._trust = Reflector(cluster, CONFIG_MAPS, where, name=names["trust"])
        self._last: dict[str, Any] = {}
        for each in (self._secret, self._trust):
            each.subscribe(lambda _old, _new: self._report_changes())

    async def run(self) -> None:
        """Watches until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._secret.run())
            tasks.create_task(self._trust.run())
            while True:
                self._report_changes()
                await asyncio.sleep(TICK_SECONDS)

    def _report_changes(self) -> None:
        trust = self._trust.get(self._names["trust"], self._names["namespace"])
        usable = None if trust is None else str((trust.get("data") or {}).get(USABLE, "")).split()  # fingerprints; None without such a list
        delivery = {"pair": self._pair(), "why": self._why(), "usable": usable, "heard": self._trust.synced.is_set()}
        if delivery != self._last:
            self._last = delivery
            self._report({"delivery": delivery})

    def _pair(self) -> dict[str, str] | None:
        """The three keys in base64, as in the Secret."""
        secret = self._secret.get(self._names["secret"], self._names["namespace"])
        data: Node = (secret or {}).get("data") or {}
        return {key: str(data.get(key) or "") for key in (TLS_CERTIFICATE, TLS_KEY, TLS_AUTHORITY)} if secret is not None else None

    def _why(self) -> str:
        """Explains why there is no pair, or why it may be an old one."""
        if self._secret.state is WatchState.SYNCED:
            there = self._pair() is not None
            return "" if there else f"there is no Secret {self._names['secret']} in namespace {self._names['namespace']}"
        return self._secret.reason


class SnapshotWatch:
    """Reports `{"offers": ...}` once the checkpoints are known, and after each change."""

    def __init__(self, cluster: Cluster, namespace: str, report: Report) -> None:
        """`namespace` is that of a restricted operator; empty for all."""
        self._checkpoints = Reflector(cluster, resource_of_kind("DynamoCheckpoint", "v1alpha1"), namespace, trim=_trim)
        self._report = report
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Watches until it is cancelled."""
        self._checkpoints.subscribe(lambda _old, _new: self._changed.set())
        last: dict[str, dict[str, str]] | None = None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._checkpoints.run())
            await self._checkpoints.synced.wait()
            while True:
                self._changed.clear()
                offers = read_offers(self._checkpoints.store.values())
                if offers != last:
                    last = offers
                    self._report({"offers": offers})
                await self._changed.wait()
                await asyncio.sleep(_GATHER_SECONDS)


def _trim(checkpoint: Node) -> None:
    """Keeps the fields of a checkpoint that are read."""
    metadata, phase = checkpoint["metadata"], (checkpoint.get("status") or {}).get("phase")
    offers = {name: text for name, text in (metadata.get("annotations") or {}).items() if name.startswith(OFFER)}
    checkpoint["metadata"] = {**{name: metadata[name] for name in _METADATA if name in metadata}, "annotations": offers}
    checkpoint["status"] = {"phase": phase}
    checkpoint.pop("spec", None)
