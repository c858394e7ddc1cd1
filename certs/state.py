"""The state of certificates at one moment, which reading.py reads from objects, and the durations of a rotation."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from .certificate import Certificate, Key

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Timings:
    """Durations of the protocol, with the defaults of the section `certificates`. Tests may go below its bounds."""

    resync: timedelta = 10 * MINUTE  # everything is read again at least this often, watches or not
    settle: timedelta = 2 * MINUTE  # API servers don't acknowledge a bundle: the time for each of them to see it
    min_roll: timedelta = 3 * MINUTE  # a pod that just started may read files 90 s old; doubled
    roll_warn: timedelta = 15 * MINUTE
    drain: timedelta = DAY  # rollbacks of the Deployment and restored Secrets bring the old leaf back
    authority_life: timedelta = 3650 * DAY
    leaf_life: timedelta = 365 * DAY
    backdate: timedelta = HOUR  # clocks differ, and a certificate must be valid at once everywhere


SHORT_SETTLE: Final = timedelta(seconds=15)  # when an authority is compromised, waiting costs more than a lagging API server
MIN_AGREEING_ROUNDS: Final = 2  # consecutive rounds of probes before an old authority is dropped
ROUND_APART: Final = timedelta(seconds=10)  # between two rounds that count
LEAF_GUARD: Final = 5 * MINUTE  # at most one leaf in this time unless the present one can't be used
AUTHORITY_GUARD: Final = DAY  # at most one automatic new authority in this time
SKEW_WARN: Final = 5 * MINUTE
SKEW_STOP: Final = HOUR  # beyond it nothing is signed: such a certificate might not be valid yet, or too short


class Mode(StrEnum):
    """The source of certificates, and the writer of trust."""

    MANAGED = "managed"  # the provisioner does both
    PROVIDED = "provided"  # the serving Secret is external; the provisioner publishes the trust
    EXTERNAL_INJECTION = "external-injection"  # both are external; the provisioner compares and reports


class Phase(StrEnum):
    """The phase of a rotation, derived from facts by policy.py; stored only as a hint."""

    BOOTSTRAP = "BOOTSTRAP"
    STABLE = "STABLE"
    PREPARE = "PREPARE"
    TRUST = "TRUST"
    SETTLE = "SETTLE"
    ISSUE = "ISSUE"
    ROLL = "ROLL"
    DRAIN = "DRAIN"
    DROP = "DROP"


class Ownership(StrEnum):
    """The owner of the webhook entries of a configuration object."""

    OURS = "ours"  # entries that name our service; their bundles are ours to write
    UNSET = "unset"  # a CRD without conversion webhook, or one to take over: write the whole stanza
    FOREIGN = "foreign"  # it points elsewhere; reported, never written
    ANNOTATED = "annotated"  # cert-manager injects into it; compared, never written
    ABSENT = "absent"  # expected and not there; reported, never created


class TargetKind(StrEnum):
    """The kinds that hold a bundle, in the order of writing: without trust a CRD breaks reads, the others only writes."""

    CRD = "CustomResourceDefinition"
    MUTATING = "MutatingWebhookConfiguration"
    VALIDATING = "ValidatingWebhookConfiguration"


class Hint(NamedTuple):
    """The phase as it was last written down, and when it was entered; either may be lost."""

    phase: Phase | None = None
    since: datetime | None = None


NO_HINT: Final = Hint()


@dataclass(frozen=True, slots=True)
class AuthoritySecret:
    """The CA Secret. A key is here only when it can be read and belongs to its certificate."""

    version: str  # resourceVersion, for the optimistic lock
    current: Certificate | None = None
    current_key: Key | None = None
    next: Certificate | None = None
    next_key: Key | None = None
    previous: tuple[Certificate, ...] = ()  # never with keys; more than one only after emergencies
    hint: Hint = NO_HINT
    generation: int = 0
    reason: str = ""  # of the rotation under way, or `compromised` as an administrator's wish
    requested: str = ""  # an administrator's wish to rotate: any value that isn't `handled`
    handled: str = ""


@dataclass(frozen=True, slots=True)
class Serving:
    """The serving Secret."""

    version: str
    chain: bytes = b""  # tls.crt as it is
    leaf: Certificate | None = None  # the first certificate of tls.crt
    key: Key | None = None  # read, not necessarily the leaf's
    bundle: bytes = b""  # ca.crt as it is
    authorities: tuple[Certificate, ...] = ()  # all of ca.crt
    holds_authority_key: bool = False  # `ca.key`, as the Go operator leaves it there
    authority_key: Key | None = None  # the same, when it can be read


@dataclass(frozen=True, slots=True)
class Trust:
    """The trust ConfigMap."""

    version: str
    bundle: bytes = b""  # what all configuration objects showed when it was written
    usable: frozenset[str] = frozenset()  # fingerprints of authorities whose leaves may be served
    hint: Hint = NO_HINT  # kept here without a managed CA Secret (mode `provided`)


@dataclass(frozen=True, slots=True)
class Target:
    """One configuration object that must trust us."""

    kind: TargetKind
    name: str
    version: str = ""
    ownership: Ownership = Ownership.OURS
    bundles: tuple[bytes, ...] = ()  # decoded PEM, one per entry that names our service
    refused: str = ""  # why the last write failed; no step writes it again until gathering clears this, after a delay
    release: str = ""  # of the operator, by the schema of a CRD; empty where that isn't known


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address behind the Service, ready or not, with the leaf that it presented last.

    `rounds` counts consecutive rounds of probes, at least timings.ROUND_APART from each other, in which this very leaf was presented.
    An address that doesn't answer has no leaf and no rounds.
    """

    address: str
    leaf: Certificate | None = None
    rounds: int = 0
    ready: bool = True


@dataclass(frozen=True, slots=True)
class Profile:
    """The contents of our certificates."""

    service: str
    namespace: str
    cluster_domain: str = "cluster.local"
    key_kind: str = "ecdsa-p256"  # or `rsa-2048`

    @property
    def server_name(self) -> str:
        """The only name that the API server verifies."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of a leaf, the essential one first."""
        return (self.server_name, self.service, f"{self.service}.{self.namespace}", f"{self.server_name}.{self.cluster_domain}")


@dataclass(frozen=True, slots=True)
class CertificateState:
    """Everything a decision may depend on, besides the time."""

    mode: Mode
    profile: Profile
    timings: Timings = Timings()
    authority: AuthoritySecret | None = None
    serving: Serving | None = None
    trust: Trust | None = None
    targets: tuple[Target, ...] = ()  # every expected object, absent ones too
    endpoints: tuple[Endpoint, ...] | None = ()  # None: probing isn't permitted
    skew: timedelta = timedelta(0)  # our clock minus the API server's
    configured_trust: bytes = b""  # mode `provided` without ca.crt: the bundle from a separate Secret or ConfigMap
    fixed: tuple[str, ...] = ()  # own stored objects that can't be replaced, and why
    reference_running: bool = False  # the Go operator has ready pods, and adoption is not forced

    @property
    def hint(self) -> Hint:
        """The phase as written down, from where this mode keeps it."""
        holder = self.authority if self.mode is Mode.MANAGED else self.trust
        return holder.hint if holder else NO_HINT
