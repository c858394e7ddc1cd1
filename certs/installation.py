"""What a provisioner is to keep alive: names, profile, timings and expected objects, from the settings that a configuration gives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.certs.authority import ECDSA, RSA
from dynamo_webhooks.certs.names import Names
from dynamo_webhooks.certs.state import Mode, Profile, TargetKind
from dynamo_webhooks.certs.timings import Timings

if TYPE_CHECKING:
    from dynamo_webhooks.api.operator.settings import ProvisionerSettings
    from dynamo_webhooks.api.operator.settings import Timings as Seconds


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation of the webhooks, as far as certificates are concerned."""

    mode: Mode
    profile: Profile
    timings: Timings
    called: Names
    targets: tuple[tuple[TargetKind, str], ...]  # every object that must trust us
    trust_file: str = ""  # more authorities in mode `provided`
    take_over: bool = False  # also a CRD's stanza that points to another service
    force_adoption: bool = False  # although the Go operator still runs
    version: str = ""  # the operator's, whose line decides which definitions belong to it; empty if not known


def installation(settings: ProvisionerSettings) -> Installation:
    """The installation that the settings describe."""
    identity = settings.identity
    return Installation(
        mode=Mode(settings.mode),
        profile=Profile(settings.service, identity.namespace, identity.cluster_domain, RSA if settings.rsa else ECDSA),
        timings=_timings(settings.timings),
        called=Names(identity.namespace, settings.serving_secret, settings.ca_secret, settings.trust, settings.lease),
        targets=_targets(settings),
        trust_file=settings.trust_file,
        take_over=settings.take_over_conversion,
        force_adoption=settings.force_adoption,
        version=identity.version,
    )


def _targets(settings: ProvisionerSettings) -> tuple[tuple[TargetKind, str], ...]:
    """Four converted kinds and two configurations; an installation for one namespace leaves the CRDs to the cluster-wide one."""
    converted = () if settings.restricted else tuple((TargetKind.CRD, kind.crd_name) for kind in KINDS if len(kind.versions) > 1)
    return (*converted, (TargetKind.MUTATING, settings.mutating), (TargetKind.VALIDATING, settings.validating))


def _timings(given: Seconds) -> Timings:
    return Timings(
        resync=timedelta(seconds=given.resync),
        settle=timedelta(seconds=given.settle),
        min_roll=timedelta(seconds=given.min_roll),
        roll_warn=timedelta(seconds=given.roll_warn),
        drain=timedelta(seconds=given.drain),
        authority_life=timedelta(seconds=given.ca_validity),
        leaf_life=timedelta(seconds=given.leaf_validity),
        backdate=timedelta(seconds=given.backdate),
    )
