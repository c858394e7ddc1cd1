"""The installation of a configuration: names, profile, timings and expected objects."""

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Final

from ..api.kinds import KINDS
from ..api.operator.configuration import OperatorConfiguration
from ..api.operator.server import MODES
from .authority import ECDSA, RSA
from .names import Names
from .state import Mode, Profile, TargetKind, Timings

_NAMES: Final = {"authority_life": "ca_validity", "leaf_life": "leaf_validity"}  # of a timing and of its key, if they differ


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation of the webhooks, as far as certificates are concerned."""

    mode: Mode
    profile: Profile
    timings: Timings
    names: Names
    targets: tuple[tuple[TargetKind, str], ...]  # every object that must trust us
    trust_file: str = ""  # more authorities in mode `provided`
    take_over: bool = False  # also a CRD's stanza that points to another service
    force_adoption: bool = False  # although the Go operator still runs
    restores: bool = False  # new pods from snapshots, by a webhook of their own
    restricted: bool = False  # serves one namespace, its own
    allowed: tuple[str, ...] = ()  # the namespaces whose graphs the reconciler runs; empty for every one
    election: tuple[str, str] | None = None  # namespace and name of the reconciler's Lease; None without leader election
    version: str = ""  # the operator's, whose line decides which definitions belong to it; empty if not known


def installation(configuration: OperatorConfiguration) -> Installation:
    """The installation that a configuration describes."""
    own, webhook, certificates = configuration.operator, configuration.server.webhook, configuration.certificates
    # an installation for one namespace leaves the definitions to the cluster-wide one
    kinds = () if configuration.namespace.restricted else tuple((TargetKind.CRD, kind.crd_name) for kind in KINDS if len(kind.versions) > 1)
    key = RSA if certificates.key_algorithm == "RSA" else ECDSA
    return Installation(
        mode=Mode(MODES[webhook.cert_provision_mode]),
        profile=Profile(webhook.service_name, own.namespace, own.cluster_domain, key),
        timings=Timings(
            **{each.name: timedelta(seconds=getattr(certificates, _NAMES.get(each.name, each.name))) for each in fields(Timings)}
        ),
        names=Names(
            own.namespace, webhook.secret_name, certificates.ca_secret_name, certificates.trust_config_map_name, certificates.lease_name
        ),
        targets=(
            *kinds,
            (TargetKind.MUTATING, certificates.mutating_configuration),
            (TargetKind.VALIDATING, certificates.validating_configuration),
        ),
        trust_file=certificates.trust_file,
        take_over=certificates.take_over_conversion,
        force_adoption=certificates.force_adoption,
        restores=configuration.checkpoint.enabled,
        restricted=bool(configuration.namespace.restricted),
        allowed=tuple(configuration.namespace.allowed),
        election=(configuration.leader_namespace, configuration.leader_election.id) if configuration.leader_election.lease else None,
        version=own.version,
    )
