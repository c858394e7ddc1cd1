"""States by hand: three authorities, leaves of each, and one function that puts them together."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import Certificate, Key, read_certificate, read_certificates, read_key
from dynamo_webhooks.certs.state import (
    AuthoritySecret,
    CertificateState,
    Endpoint,
    Hint,
    Mode,
    Phase,
    Profile,
    Serving,
    Target,
    TargetKind,
    Trust,
)
from dynamo_webhooks.certs.trust import compose_bundle

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
BORN = NOW - timedelta(days=10)
PROFILE = Profile("dynamo-webhooks", "dynamo-system")


@lru_cache
def pair(letter: str) -> KeyPair:
    """The authority of a letter, made ten days ago."""
    return make_authority(BORN, generation=ord(letter) - ord("a") + 1)


@lru_cache
def authority(letter: str) -> Certificate:
    return read(pair(letter).certificate)


@lru_cache
def leaf_pair(letter: str) -> KeyPair:
    return issue_leaf(pair(letter), PROFILE.names, BORN)


def leaf(letter: str) -> Certificate:
    return read(leaf_pair(letter).certificate)


def key(pem: bytes) -> Key:
    parsed = read_key(pem)
    assert parsed is not None
    return parsed


def read(pem: bytes) -> Certificate:
    certificate = read_certificate(pem)
    assert certificate is not None
    return certificate


def bundle(letters: str) -> bytes:
    return compose_bundle([authority(letter) for letter in letters], (), NOW)


def serving_of(made: KeyPair, trusted: bytes, **changes: Any) -> Serving:
    """A serving Secret with this pair."""
    serving = Serving("1", made.certificate, read_certificate(made.certificate), read_key(made.key), trusted, read_certificates(trusted))
    return replace(serving, **changes)


def targets(*shown: bytes) -> tuple[Target, ...]:
    """One object of each kind, showing these bundles in turn."""
    kinds = (TargetKind.CRD, TargetKind.MUTATING, TargetKind.VALIDATING)
    return tuple(Target(kind, kind.value.lower(), "1", bundles=(shown[index % len(shown)],)) for index, kind in enumerate(kinds))


def state(
    slots: str = "a",
    *,
    by: str = "a",
    shows: Sequence[str] = ("a",),
    phase: Phase | None = Phase.STABLE,
    ago: timedelta | None = timedelta(hours=1),
    trusted: str | None = None,
    usable: str | None = None,
    presents: str | None = None,
    keys: str | None = None,
    **more: Any,
) -> CertificateState:
    """A managed state. `slots` is `current[>next][<previous]`, as in `a`, `a>b`, `b<a`; letters name authorities.

    `by` is the issuer of the stored leaf (empty: no Secret), `presents` those of the endpoints, `shows` the objects' bundles.
    """
    rest, _, previous = slots.partition("<")
    current, _, following = rest.partition(">")
    known = keys if keys is not None else current + following
    secret = AuthoritySecret(
        "1",
        current=authority(current) if current else None,
        current_key=key(pair(current).key) if current and current in known else None,
        next=authority(following) if following else None,
        next_key=key(pair(following).key) if following and following in known else None,
        previous=tuple(authority(letter) for letter in previous),
        hint=Hint(phase, NOW - ago if ago is not None else None),
        generation=3,
    )
    everyone = by if presents is None else presents
    base = CertificateState(
        mode=Mode.MANAGED,
        profile=PROFILE,
        authority=secret,
        serving=serving_of(leaf_pair(by), bundle(trusted if trusted is not None else shows[0])) if by else None,
        trust=Trust("1", bundle(shows[0]), frozenset(authority(letter).fingerprint for letter in (usable if usable is not None else by))),
        targets=targets(*(bundle(letters) for letters in shows)),
        endpoints=tuple(Endpoint(str(index), leaf(letter), rounds=2) for index, letter in enumerate(everyone)),
    )
    return replace(base, **more)
