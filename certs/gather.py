"""Reads the facts of one moment fresh from the API server and the endpoints."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from ..kube.errors import ForbiddenError
from ..kube.protocol import Cluster, Node
from ..kube.times import now as local_now
from .files import PairError, read_file
from .inject import Injector
from .installation import Installation
from .probe import Prober
from .reading import read_authority, read_serving, read_trust
from .state import CertificateState, Mode, Serving, Target, TargetKind
from .store import OPAQUE, TLS, Store, explain_immutable

REFUSED_WRITE_PAUSE_SECONDS: Final = 30.0  # before the object is written again
REWRITE_PAUSE_SECONDS: Final = 3.0  # of an object that another writer overwrote at once, against floods


class _Refusal(NamedTuple):
    version: str  # resourceVersion that refused; empty: any
    reason: str
    until: float


class RotationFacts(NamedTuple):
    """The facts of one moment."""

    state: CertificateState
    now: datetime  # by the API server's clock
    serving: Node | None  # the Secret itself, for Events; it holds a key: never log it
    notes: dict[str, str]  # annotations of the object that the hint is kept in


class Refusals:
    """Objects not to be written for a while: writes failed, or another writer overwrites them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refusals: dict[tuple[TargetKind, str], _Refusal] = {}

    def add(self, target: Target, reason: str, *, overwritten: bool = False) -> None:
        """Notes a refusal. A change of the object ends it, except where it is a change that we mustn't answer at once."""
        version, pause = ("", REWRITE_PAUSE_SECONDS) if overwritten else (target.version, REFUSED_WRITE_PAUSE_SECONDS)
        self._refusals[target.kind, target.name] = _Refusal(version, reason, self._clock() + pause)

    def apply(self, target: Target) -> Target:
        """The target with the reason for which it isn't written now, if there is one."""
        refusal = self._refusals.get((target.kind, target.name))
        if refusal is None:
            return target
        if self._clock() >= refusal.until or refusal.version not in ("", target.version):
            del self._refusals[target.kind, target.name]
            return target
        return replace(target, refused=refusal.reason)

    def soonest(self) -> float | None:
        """Seconds until the next of them may be written again; None when there are none."""
        return min((each.until - self._clock() for each in self._refusals.values()), default=None)


@dataclass(slots=True)
class Gatherer:
    """Reads everything that a decision depends on."""

    cluster: Cluster
    about: Installation
    store: Store
    injector: Injector
    prober: Prober
    refusals: Refusals
    now: Callable[[], datetime] = local_now  # the local wall clock, which is only compared with the API server's

    async def gather(self) -> RotationFacts:
        """Read everything. Raises ApiError if the API server is unreachable."""
        about, store = self.about, self.store
        managed = about.mode is Mode.MANAGED
        # all at once: a busy API server needs a second for each answer
        serving, authority, trust, endpoints, targets = await asyncio.gather(
            store.serving(),
            store.authority() if managed else asyncio.sleep(0),  # which there is no need to read
            self._trust(),
            self.prober.probe(),
            asyncio.gather(*(self._target(kind, name) for kind, name in about.targets)),
        )
        theirs = await self.cluster.server_time()
        pair = read_serving(serving) if serving else None
        state = CertificateState(
            mode=about.mode,
            profile=about.profile,
            timings=about.timings,
            authority=read_authority(authority) if authority else None,
            serving=pair,
            trust=read_trust(trust) if trust else None,
            targets=tuple(targets),
            endpoints=endpoints,
            skew=self.now() - theirs,
            configured_trust=_content(about.trust_file),
            fixed=self._fixed(authority, serving if managed else None, trust),
            reference_running=managed and await self._reference_runs(pair),
        )
        holder = (authority if managed else trust) or {}
        notes = dict((holder.get("metadata") or {}).get("annotations") or {})
        return RotationFacts(state, theirs, serving, notes)

    def _fixed(self, authority: Node | None, serving: Node | None, trust: Node | None) -> tuple[str, ...]:
        """The stored objects that can't be replaced, and why."""
        typed = ((authority, OPAQUE), (serving, TLS), (trust, ""))
        reasons = ((obj, explain_immutable(obj, type_)) for obj, type_ in typed if obj)
        return tuple(f"{obj['kind']} {obj['metadata']['name']} is {why}" for obj, why in reasons if why)

    async def _trust(self) -> Node | None:
        try:
            return await self.store.trust()
        except ForbiddenError:
            if self.about.mode is Mode.EXTERNAL_INJECTION:
                return None  # there is no use for the permission, hence it may be missing
            raise

    async def _target(self, kind: TargetKind, name: str) -> Target:
        try:
            return self.refusals.apply(await self.injector.read(kind, name))
        except ForbiddenError as error:  # counts as untrusting: unknown
            return Target(kind, name, bundles=(b"",), refused=error.message)

    async def _reference_runs(self, serving: Serving | None) -> bool:
        """Whether the Go operator, which left its authority's key in the Secret, has ready endpoints behind the Service it signed for."""
        if serving is None or serving.authority_key is None or serving.leaf is None or self.about.force_adoption:
            return False
        ending = f".{self.about.profile.namespace}.svc"
        services = {name.removesuffix(ending) for name in serving.leaf.names if name.endswith(ending)}
        return any([await self.prober.anybody_behind(service) for service in sorted(services - {self.about.profile.service})])


def _content(file: str) -> bytes:
    """A small local file's bytes; empty when there is none, which the readiness report explains."""
    try:
        return read_file(Path(file)) if file else b""
    except PairError:
        return b""
