"""`certs issue`, `rotate` and `inject` against a cluster: the provisioner's own parts, used once, by hand."""

from typing import NamedTuple

from ....certs import names
from ....certs.gather import Gatherer, Refusals
from ....certs.inject import Injector, OverwrittenError
from ....certs.installation import Installation
from ....certs.policy import can_sign, may_sign
from ....certs.probe import Prober
from ....certs.report import bundle_of, phase_of
from ....certs.state import Mode, Phase, Stance, Target
from ....certs.step import WriteServing
from ....certs.store import Store, make_content
from ....certs.trust import list_unsynced
from ....kube.errors import ApiError
from ....kube.protocol import Cluster

WRITABLE = frozenset({Stance.OURS, Stance.UNSET})


class RefusedError(Exception):
    """The request can't be carried out now; the text is a sentence with the reason and the remedy."""


class Hands(NamedTuple):
    """The parts of a provisioner."""

    about: Installation
    store: Store
    injector: Injector
    gatherer: Gatherer

    async def issue(self, *, dry_run: bool) -> str:
        """Write a new certificate of the current authority into the serving Secret; return the result as a sentence.

        Raises: RefusedError if nothing may be signed now; ApiError.
        """
        self._managed("a certificate")
        found = await self.gatherer.gather()
        state, phase = found.state, phase_of(found.state, found.now)
        if state.authority is None or not can_sign(state.authority, found.now):
            raise RefusedError("there is no authority that can sign; run `dynamo-webhooks provision --once` to have one made")
        if not may_sign(state):
            raise RefusedError("this machine's clock differs too much from the API server's to sign anything; set it first")
        if phase is Phase.ISSUE:
            raise RefusedError("a rotation is just changing the certificate; wait until it has")
        write = make_content(WriteServing("current", bundle_of(state, found.now), "requested"), state, found.now, self.about.called)
        if write is None or dry_run:
            return f"would write a new certificate into the Secret {self.about.called.serving}"
        await self.store.write(write)
        return f"a new certificate is in the Secret {self.about.called.serving}; servers take it into use by themselves"

    async def rotate(self, *, compromised: bool, dry_run: bool) -> str:
        """Request a new authority from the provisioner; return the result as a sentence. Raises: RefusedError, ApiError."""
        self._managed("an authority")
        found = await self.gatherer.gather()
        if found.state.authority is None:
            raise RefusedError("there is no authority to rotate; run `dynamo-webhooks provision --once` to have one made")
        notes = {names.REQUESTED: found.now.isoformat()} | ({names.REASON: "compromised"} if compromised else {})
        told = ", ".join(f"{key}={value}" for key, value in notes.items())
        if dry_run:
            return f"would set {told} on the Secret {self.about.called.authority}"
        await self.store.annotate("Secret", self.about.called.authority, notes)
        return f"set {told} on the Secret {self.about.called.authority}; the provisioner rotates, and `certs inspect` shows how far it is"

    async def inject(self, *, dry_run: bool) -> list[tuple[bool, str]]:
        """Writes the bundle into each object that doesn't show it: whether it succeeded, and a sentence, for each. Raises: ApiError."""
        found = await self.gatherer.gather()
        bundle = bundle_of(found.state, found.now)
        if not bundle:
            raise RefusedError("no authority to trust was found in the CA Secret, the serving Secret or trustFile")
        wrong = list_unsynced(found.state, bundle)
        absent = [one for one in found.state.targets if one.stance in {Stance.ABSENT, Stance.FOREIGN}]
        return [await self._write(one, bundle, dry_run=dry_run) for one in (*wrong, *absent)]

    async def _write(self, target: Target, bundle: bytes, *, dry_run: bool) -> tuple[bool, str]:
        named = f"{target.kind} {target.name}"
        if target.stance not in WRITABLE:
            why = {
                Stance.ABSENT: "is not there",
                Stance.FOREIGN: "points to another service and is left alone",
                Stance.ANNOTATED: "is written by cert-manager and left alone",
            }[target.stance]
            return False, f"{named} {why}"
        if target.refused:
            return False, f"{named}: {target.refused}"
        try:
            await self.injector.write(target, bundle, dry_run=dry_run)
        except (ApiError, OverwrittenError) as error:
            return False, f"{named}: {error}"
        return True, f"{named}: {'would be given the bundle' if dry_run else 'trusts us now'}"

    def _managed(self, what: str) -> None:
        if self.about.mode is not Mode.MANAGED:
            raise RefusedError(f"{what} is not made by the provisioner in mode {self.about.mode}; renew it at its issuer")


def hands(cluster: Cluster, about: Installation) -> Hands:
    """The parts of a provisioner for one installation; no Lease is taken: the lock of each write is enough for one."""
    profile, store = about.profile, Store(cluster, about.called)
    injector = Injector(cluster, profile, take_over=about.take_over)
    prober = Prober(cluster, profile.service, profile.namespace, profile.server_name)
    return Hands(about, store, injector, Gatherer(cluster, about, store, injector, prober, Refusals()))
