"""The serving Secret and the list of usable issuers, watched by name and reported as they are; certs/delivery.py judges them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...certs.names import TLS_AUTHORITY, TLS_CERTIFICATE, TLS_KEY, USABLE
from ...kube.protocol import Cluster, Node
from ...kube.reflector import Reflector, WatchState
from ...kube.resources import CONFIG_MAPS, SECRETS

Report: TypeAlias = "Callable[[dict[str, Any]], None]"
_LOOK_SECONDS = 0.5  # between two looks at what has changed without an event: a permission that is missing, a server that is gone


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
            each.subscribe(lambda _old, _new: self._look())

    async def run(self) -> None:
        """Watches until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._secret.run())
            tasks.create_task(self._trust.run())
            while True:
                self._look()
                await asyncio.sleep(_LOOK_SECONDS)

    def _look(self) -> None:
        found = {"pair": self._pair(), "why": self._why(), "usable": self._usable(), "heard": self._trust.synced.is_set()}
        if found != self._last:
            self._last = found
            self._report({"delivery": found})

    def _pair(self) -> dict[str, str] | None:
        """The three keys in base64, as in the Secret."""
        secret = self._secret.get(self._names["secret"], self._names["namespace"])
        data: Node = (secret or {}).get("data") or {}
        return {key: str(data.get(key) or "") for key in (TLS_CERTIFICATE, TLS_KEY, TLS_AUTHORITY)} if secret is not None else None

    def _why(self) -> str:
        """Why there is no pair, or why it may be an old one."""
        if self._secret.state is WatchState.SYNCED:
            there = self._pair() is not None
            return "" if there else f"there is no Secret {self._names['secret']} in namespace {self._names['namespace']}"
        return self._secret.reason

    def _usable(self) -> list[str] | None:
        """Fingerprints; None without such a list."""
        trust = self._trust.get(self._names["trust"], self._names["namespace"])
        return None if trust is None else str((trust.get("data") or {}).get(USABLE, "")).split()
