"""Writes Events on the serving Secret and the servers' Deployment for steps and problems, and an annotation of conditions."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Literal

from ..kube.errors import ApiError, ForbiddenError
from ..kube.events import Recorder
from ..kube.protocol import Node
from ..kube.resources import DEPLOYMENTS, SECRETS, Resource
from . import names
from .gather import Gathered
from .installation import Installation
from .report import Report, conditions, reports
from .state import Mode
from .store import Store

LOG: Final = logging.getLogger("certs.tell")


class Teller:
    """Reports each step and problem once, until it changes."""

    def __init__(self, about: Installation, store: Store, recorder: Recorder) -> None:
        self._about, self._store, self._recorder = about, store, recorder
        self._reported: frozenset[Report] = frozenset()
        self._refused = False  # the servers' Deployment, to be read

    async def happened(self, found: Gathered, reason: str, message: str) -> None:
        """Reports a completed step."""
        await self._record(found, "Normal", reason, message)

    async def stands(self, found: Gathered) -> None:
        """Reports the current problems that are new since the last call."""
        now = frozenset(reports(found.state, found.now))
        for report in sorted(now - self._reported):
            LOG.warning("%s: %s", report.reason, report.text)
            await self._record(found, "Warning" if report.warning else "Normal", report.reason, report.text)
        self._reported = now

    async def annotate(self, found: Gathered) -> None:
        """Updates the annotation; a failure is only logged, since nothing depends on it."""
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
        """Whether there is an own object to annotate; in mode `external-injection` there is none."""
        if self._about.mode is Mode.MANAGED:
            return found.state.authority is not None
        return self._about.mode is Mode.PROVIDED and found.state.trust is not None

    async def _record(self, found: Gathered, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Writes one Event on the serving Secret and one on the servers' Deployment."""
        await asyncio.gather(
            self._recorder.record(self._secret(found.serving), kind, reason, message), self._record_on_servers(kind, reason, message)
        )

    async def _record_on_servers(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Reads the Deployment first: `kubectl describe` finds Events by uid. Without the permission, it writes no Event."""
        try:
            servers = await self._store.servers(self._about.profile.service)
        except ForbiddenError as error:
            if not self._refused:
                self._refused = True
                LOG.warning("the Deployment of the servers gets no Events; this is logged once: %s", error.message)
            return
        except ApiError as error:
            LOG.warning("an Event was not written (%s: %s): %s", reason, message, error.message)
            return
        if servers:
            await self._recorder.record(_regarding(DEPLOYMENTS, servers["metadata"]), kind, reason, message)

    def _secret(self, serving: Node | None) -> Node:
        """A reference to the serving Secret, which may not exist."""
        called = {"name": self._about.called.serving, "namespace": self._about.called.namespace}
        return _regarding(SECRETS, {**((serving or {}).get("metadata") or {}), **called})


def _regarding(resource: Resource, metadata: Node) -> Node:
    """The object reference of an Event."""
    known = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion") if metadata.get(key)}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": known}
