"""Tells people: Events on the serving Secret when something happened or stands wrong, and the annotation with the conditions."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from certs import names
from certs.conditions import conditions
from certs.report import Report, reports
from certs.state import Mode
from kube.errors import ApiError

if TYPE_CHECKING:
    from certs.gather import Gathered
    from certs.installation import Installation
    from certs.store import Store
    from kube.events import Recorder
    from kube.protocol import Node

LOG: Final = logging.getLogger("certs.tell")


class Teller:
    """Says each thing once, until it changes."""

    def __init__(self, about: Installation, store: Store, recorder: Recorder) -> None:
        """Has said nothing yet."""
        self._about, self._store, self._recorder = about, store, recorder
        self._said: frozenset[Report] = frozenset()

    async def happened(self, serving: Node | None, reason: str, message: str) -> None:
        """Something was done."""
        await self._recorder.record(self._regarding(serving), "Normal", reason, message)

    async def stands(self, found: Gathered) -> None:
        """What stands wrong now, if it didn't before."""
        now = frozenset(reports(found.state, found.now))
        for report in sorted(now - self._said):
            LOG.warning("%s: %s", report.reason, report.text)
            await self._recorder.record(
                self._regarding(found.serving), "Warning" if report.warning else "Normal", report.reason, report.text
            )
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

    def _regarding(self, serving: Node | None) -> Node:
        """What Events are about, without the content of the Secret."""
        metadata = (serving or {}).get("metadata") or {}
        called = {"name": self._about.called.serving, "namespace": self._about.called.namespace}
        known = {key: metadata[key] for key in ("uid", "resourceVersion") if metadata.get(key)}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {**called, **known}}
