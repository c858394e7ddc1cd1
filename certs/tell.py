"""Reports what a provisioner found by Events and annotations."""

import asyncio
import logging
from typing import Final, Literal

from ..api.line import DEFAULT_LINE, Line, of_release
from ..kube.errors import ApiError
from ..kube.events import Recorder
from ..kube.protocol import Node
from ..kube.resources import DEPLOYMENTS, SECRETS, Resource
from . import names
from .gather import RotationFacts
from .installation import Installation
from .report import Report, format_conditions, list_reports
from .state import Mode, Target
from .store import Store

LOG: Final = logging.getLogger("certs.tell")


class Reporter:
    """Reports each step and problem once, until it changes."""

    def __init__(self, about: Installation, store: Store, recorder: Recorder) -> None:
        self._about, self._store, self._recorder = about, store, recorder
        self._reported: frozenset[Report] = frozenset()
        self._unread = ""  # why the servers' Deployment can't be read
        self._other_release = ""  # of the definitions, as it was last logged

    async def report_problems(self, facts: RotationFacts, *, installing: bool) -> None:
        """Reports the current problems that are new since the last call; objects that are `installing` may still come."""
        now = frozenset(list_reports(facts.state, facts.now, installing=installing))
        for report in sorted(now - self._reported):
            LOG.warning("%s: %s", report.reason, report.text)
            await self.record(facts, "Warning", report.reason, report.text)
        self._reported = now
        self._compare_releases(facts.state.targets)

    def _compare_releases(self, targets: tuple[Target, ...]) -> None:
        """Warns once of definitions of another operator release than `operator.version`: fields would be lost or refused."""
        version = self._about.version
        wanted = of_release(version)
        seen = {each.release: each.name for each in targets if each.release}
        if Line.V1_7 in seen:
            seen.pop(Line.V1_6, None)  # the definition of graphs is that of operator 1.6
        other = next((f"{name} is of operator {release}" for release, name in seen.items() if release != wanted), "")
        if wanted is not None and other and other != self._other_release:
            text = "both must be of one operator release, or fields are lost or refused; `dynamo-webhooks doctor` prints the repair"
            LOG.warning("%s, and operator.version is %s, which is %s.0 by default: %s", other, version, DEFAULT_LINE, text)
        self._other_release = other

    async def annotate(self, facts: RotationFacts) -> None:
        """Updates the annotation; a failure is only logged, since nothing depends on it."""
        text = format_conditions(facts.state, facts.now)
        managed, object_names = self._about.mode is Mode.MANAGED, self._about.names
        own = facts.state.authority if managed else facts.state.trust
        if text == facts.notes.get(names.CONDITIONS) or own is None or self._about.mode is Mode.EXTERNAL_INJECTION:
            return  # nothing new, or no object of our own
        kind, name = ("Secret", object_names.authority) if managed else ("ConfigMap", object_names.trust)
        try:
            await self._store.annotate(kind, name, {names.CONDITIONS: text})
        except ApiError as error:
            LOG.warning("the conditions can't be written: %s", error.message)

    async def record(self, facts: RotationFacts, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Writes one Event on the serving Secret and one on the servers' Deployment."""
        identity = {"name": self._about.names.serving, "namespace": self._about.names.namespace}  # the Secret may not exist
        secret = _regarding(SECRETS, {**((facts.serving or {}).get("metadata") or {}), **identity})
        await asyncio.gather(self._recorder.record(secret, kind, reason, message), self._record_on_servers(kind, reason, message))

    async def _record_on_servers(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Reads the Deployment first: `kubectl describe` finds Events by uid. Without the permission, it writes no Event."""
        try:
            servers = await self._store.servers(self._about.profile.service)
        except ApiError as error:
            if error.message != self._unread:
                self._unread = error.message
                LOG.warning("the Deployment of the servers gets no Events; this is logged once: %s", error.message)
            return
        if servers:
            await self._recorder.record(_regarding(DEPLOYMENTS, servers["metadata"]), kind, reason, message)


def _regarding(resource: Resource, metadata: Node) -> Node:
    """The object that an Event is about."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
