"""Repairs one object as soon as a watch shows that it lost our bundle, without reading everything.

Gathering asks every server for its certificate, and waits for those that don't answer; requests fail meanwhile, or lose fields. Written is
only the bundle that the last look found everywhere, into exactly the version that the watch showed. The next look judges it as ever.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.gather import BREATH
from dynamo_webhooks.certs.report import bundle_of
from dynamo_webhooks.certs.state import Mode, Stance
from dynamo_webhooks.certs.step import WriteBundle
from dynamo_webhooks.certs.trust import everywhere, shows
from dynamo_webhooks.kube.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dynamo_webhooks.certs.gather import Gathered, Refusals
    from dynamo_webhooks.certs.inject import Injector
    from dynamo_webhooks.certs.perform import Performer
    from dynamo_webhooks.certs.state import TargetKind
    from dynamo_webhooks.kube.protocol import Node

LOG: Final = logging.getLogger("certs.mend")


class _Published(NamedTuple):
    found: Gathered  # the look that saw it everywhere
    bundle: bytes


class Mender:
    """Handles events of watches, repairs bundles, and requests a pass."""

    def __init__(
        self,
        injector: Injector,
        performer: Performer,
        refusals: Refusals,
        due: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`due` is called after each change, repaired or not."""
        self._injector, self._performer, self._refusals, self._due, self._clock = injector, performer, refusals, due, clock
        self._published: _Published | None = None
        self._changed: dict[tuple[TargetKind, str], Node | None] = {}
        self._mended: dict[tuple[TargetKind, str], float] = {}
        self._news = asyncio.Event()

    def forget(self) -> None:
        """Knows nothing of an earlier term any more: who led in between may have published something else."""
        self._published = None
        self._changed.clear()

    def looked(self, found: Gathered) -> None:
        """Takes the facts of a look. While another bundle is on its way to the objects, nothing is repaired here."""
        bundle = bundle_of(found.state, found.now)
        if found.state.mode is Mode.EXTERNAL_INJECTION or not bundle:
            self._published = None
        elif everywhere(found.state, bundle):
            self._published = _Published(found, bundle)
        elif self._published is not None and self._published.bundle != bundle:
            self._published = None

    def changed(self, kind: TargetKind, name: str, obj: Node | None) -> None:
        """Takes an object as a watch shows it."""
        self._changed[kind, name] = obj
        self._news.set()

    async def run(self) -> None:
        """Repairs until it is cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            changed, self._changed = self._changed, {}
            for (kind, name), obj in changed.items():
                await self._look_at(kind, name, obj)
            self._due()

    async def _look_at(self, kind: TargetKind, name: str, obj: Node | None) -> None:
        published = self._published
        if published is None or obj is None:
            return
        target = self._refusals.applied(self._injector.seen(kind, name, obj))
        if target.refused or target.stance not in {Stance.OURS, Stance.UNSET}:
            return
        if shows(target, published.bundle, read_certificates(published.bundle)):
            return
        if self._clock() - self._mended.get((kind, name), float("-inf")) < BREATH:
            return  # another writer reverts it: passes have their own delays
        self._mended[kind, name] = self._clock()
        try:
            await self._performer.perform(WriteBundle(target, published.bundle, "drift"), published.found, obj)
        except ApiError as error:
            LOG.warning("%s %s: %s", kind, name, error.message)
        except Exception:
            LOG.exception("%s %s could not be repaired at once", kind, name)
