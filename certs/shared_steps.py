"""The steps that the plans of all modes share."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal

from .certificate import read_certificates
from .state import CertificateState, Ownership
from .step import RewriteServing, Step, Wait, WriteBundle, WriteTrust
from .trust import is_trusted_everywhere, issuers, list_unsynced


def write_bundles(state: CertificateState, bundle: bytes, reason: Literal["bootstrap", "rotation", "drift"]) -> Iterator[Step]:
    """Writes to each object that shows another bundle, is ours to write, and has not just refused; never an empty one."""
    for target in list_unsynced(state, bundle) if bundle else ():
        if target.ownership in {Ownership.OURS, Ownership.UNSET} and not target.refused:
            # renaming changes the order of the same authorities, which is no drift
            sorted_anew = target.bundles and all(
                set(read_certificates(shown)) == set(read_certificates(bundle)) for shown in target.bundles
            )
            yield WriteBundle(target, bundle, "rotation" if sorted_anew else reason)


def rewrite_serving(state: CertificateState, bundle: bytes) -> Iterator[Step]:
    """Write the serving Secret with its leaf, the wanted `ca.crt` and no authority's key; never for a pair that servers would refuse."""
    serving = state.serving
    if serving is None or serving.leaf is None or serving.key is None or not serving.key.belongs_to(serving.leaf):
        return
    if not issuers(read_certificates(bundle), (serving.leaf,)):
        return
    if serving.bundle != bundle or serving.holds_authority_key:
        yield RewriteServing(bundle)


def write_trust(state: CertificateState, bundle: bytes, usable: frozenset[str]) -> Iterator[Step]:
    """The trust ConfigMap: the bundle only once every object shows it, permission to serve at once."""
    old = state.trust
    shown = bundle if is_trusted_everywhere(state, bundle) else (old.bundle if old else b"")
    if old is None or (old.bundle, old.usable) != (shown, usable):
        yield WriteTrust(shown, usable)


def wait(state: CertificateState, now: datetime, lasting: timedelta, why: str) -> Wait:
    """Until the phase has lasted long enough, or what else it waits for may have come."""
    end, resync = (state.hint.since or now) + lasting, now + state.timings.resync
    return Wait(min(end, resync) if end > now else resync, why)
