"""Tells people: Events on the serving Secret and the servers' Deployment when something happened or is wrong, and an annotation."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Literal

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.report import Report, conditions, reports
from dynamo_webhooks.certs.state import Mode
from dynamo_webhooks.kube.errors import ApiError, ForbiddenError
from dynamo_webhooks.kube.resources import DEPLOYMENTS, SECRETS

if TYPE_CHECKING:
    from dynamo_webhooks.certs.gather import Gathered
    from dynamo_webhooks.certs.installation import Installation
    from dynamo_webhooks.certs.store import Store
    from dynamo_webhooks.kube.events import Recorder
    from dynamo_webhooks.kube.protocol import Node
    from dynamo_webhooks.kube.resources import Resource

LOG: Final = logging.getLogger("certs.tell")


class Teller:
    """Says each thing once, until it changes."""

    def __init__(self, about: Installation, store: Store, recorder: Recorder) -> None:
        """Has said nothing yet."""
        self._about, self._store, self._recorder = about, store, recorder
        self._said: frozenset[Report] = frozenset()
        self._refused = False  # the servers' Deployment, to be read

    async def happened(self, found: Gathered, reason: str, message: str) -> None:
        """Something was done."""
        await self._record(found, "Normal", reason, message)

    async def stands(self, found: Gathered) -> None:
        """What stands wrong now, if it didn't before."""
        now = frozenset(reports(found.state, found.now))
        for report in sorted(now - self._said):
            LOG.warning("%s: %s", report.reason, report.text)
            await self._record(found, "Warning" if report.warning else "Normal", report.reason, report.text)
        self._said = now

    async def annotate(self, found: Gathered) -> None:
        """Keeps the annotation up to date; nobody waits for it, hence its failure is no failure."""
        text = conditions(found.state, found.now)
        if text == found.notes.get(names.CONDITIONS) or not self._there(found):
            return
        kind = "Secret" if self._about.mode is Mode.MANAGED else "ConfigMap"
        name = self._about.called.authority if self._about.mode is Mode.MANAGED else self._about.called.trust
        try:
            await self._store.annotate(kind, name, {names.CONDITIONS: text})
        except ApiError as error:
            LOG.warning("the conditions can't be written: %s", error.message)

    def _there(self, found: Gathered) -> bool:
        """Whether there is an object of ours to annotate; where others do everything, there is none."""
        if self._about.mode is Mode.MANAGED:
            return found.state.authority is not None
        return self._about.mode is Mode.PROVIDED and found.state.trust is not None

    async def _record(self, found: Gathered, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """One Event on each of both that people describe."""
        await asyncio.gather(
            self._recorder.record(self._secret(found.serving), kind, reason, message), self._record_on_servers(kind, reason, message)
        )

    async def _record_on_servers(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """It is read first: `kubectl describe` finds Events by the uid. Without the permission there is none, which harms nothing else."""
        try:
            servers = await self._store.servers(self._about.profile.service)
        except ForbiddenError as error:
            if not self._refused:
                self._refused = True
                LOG.warning("the Deployment of the servers gets no Events, and this is said once: %s", error.message)
            return
        except ApiError as error:
            LOG.warning("an Event was not written (%s: %s): %s", reason, message, error.message)
            return
        if servers:
            await self._recorder.record(_regarding(DEPLOYMENTS, servers["metadata"]), kind, reason, message)

    def _secret(self, serving: Node | None) -> Node:
        """The serving Secret, which may be missing: that is one of the things to tell."""
        called = {"name": self._about.called.serving, "namespace": self._about.called.namespace}
        return _regarding(SECRETS, {**((serving or {}).get("metadata") or {}), **called})


def _regarding(resource: Resource, metadata: Node) -> Node:
    """What an Event is about, and nothing of its content."""
    known = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if metadata.get(key)}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": known}
