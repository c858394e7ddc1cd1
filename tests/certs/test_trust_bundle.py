"""The form of bundles: same content, same bytes."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dynamo_webhooks.certs.authority import issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.trust import LARGEST, compose_bundle, holds
from tests.certs.world import certificate

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
PAIRS = [make_authority(NOW, generation=number) for number in range(6)]
LIVE = [certificate(pair.certificate) for pair in PAIRS]
OLD = make_authority(NOW - timedelta(days=100), life=timedelta(days=50), generation=9)
EXPIRED = certificate(OLD.certificate)
OLD_LEAF = certificate(issue_leaf(OLD, ["a"], NOW - timedelta(days=100)).certificate)


@given(st.lists(st.sampled_from(LIVE), max_size=8))
def test_order_and_repetition(authorities: list[object]) -> None:
    """Keeps the caller's order, drops duplicates and all but four, and reads back as the same bytes."""
    chosen = [one for one in LIVE if one in authorities]
    bundle = compose_bundle(chosen * 2, (), NOW)
    assert list(read_certificates(bundle)) == chosen[:LARGEST]
    assert compose_bundle(read_certificates(bundle), (), NOW) == bundle
    assert bundle == b"".join(one.pem for one in chosen[:LARGEST])
    assert all(block.endswith(b"-----END CERTIFICATE-----\n") for block in [bundle] if block)


def test_expired_ones_stay_only_while_they_are_served() -> None:
    """An expired authority is kept only if it issued a served leaf; a bundle is never emptied."""
    assert compose_bundle([LIVE[0], EXPIRED], (), NOW) == LIVE[0].pem
    assert compose_bundle([LIVE[0], EXPIRED], (OLD_LEAF,), NOW) == LIVE[0].pem + EXPIRED.pem
    assert compose_bundle([EXPIRED], (), NOW) == EXPIRED.pem
    assert compose_bundle([], (), NOW) == b""


def test_too_many_authorities() -> None:
    """The first two are those of the rotation; of the others, the issuers of served leaves stay."""
    served = [certificate(issue_leaf(PAIRS[number], ["a"], NOW).certificate) for number in (3, 5)]
    assert list(read_certificates(compose_bundle(LIVE, served, NOW))) == [LIVE[0], LIVE[1], LIVE[3], LIVE[5]]
    assert list(read_certificates(compose_bundle(LIVE, (), NOW))) == LIVE[:4]


def test_holds_reads_all_blocks() -> None:
    """Trust of the third block is trust."""
    bundle = compose_bundle(LIVE[:3], (), NOW)
    assert holds(bundle, [LIVE[2], LIVE[0]])
    assert not holds(bundle, [LIVE[3]])
    assert not holds(b"", [LIVE[0]])
