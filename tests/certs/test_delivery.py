"""Which pair is served: every rule of acceptance, the gate for new issuers, and sources that disagree. trustme makes the foreign chains."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
import trustme

from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import read_certificate
from dynamo_webhooks.certs.delivery import (
    DELETED_LIST_SECONDS,
    TRUST_TIMEOUT_SECONDS,
    UNLISTED_TIMEOUT_SECONDS,
    Delivery,
    Gate,
    PairContent,
    Source,
    accept,
)
from dynamo_webhooks.certs.files import PairError
from tests.rows import run_each

NOW: Final = datetime(2026, 5, 17, 12, tzinfo=UTC)
NAME: Final = "dynamo-webhooks.dynamo-system.svc"
OLD, NEW = make_authority(NOW, generation=1), make_authority(NOW, generation=2)
DAY: Final = timedelta(days=1)


def content(authority: KeyPair = OLD, *, at: datetime = NOW, name: str = NAME, bundle: bytes | None = None) -> PairContent:
    leaf = issue_leaf(authority, [name], at)
    return PairContent(leaf.certificate, leaf.key, authority.certificate if bundle is None else bundle)


def usable(*authorities: KeyPair) -> Gate:
    certificates = [read_certificate(each.certificate) for each in authorities]
    return Gate(listed=True, usable=frozenset(each.fingerprint for each in certificates if each))


class Server:
    """A delivery with a clock."""

    def __init__(self, gate: Gate | None = None) -> None:
        self.delivery = Delivery(NAME)
        self.seconds = 0.0
        self.now = NOW
        self.trouble = self.warning = ""
        if gate is not None:
            self.delivery.restrict(gate)

    def api(self, held: PairContent | str) -> PairContent | None:
        self.delivery.store(Source.API, held)
        return self.serves()

    def file(self, held: PairContent | str) -> PairContent | None:
        self.delivery.store(Source.FILE, held)
        return self.serves()

    def after(self, seconds: float) -> PairContent | None:
        self.seconds += seconds
        self.now += timedelta(seconds=seconds)
        return self.serves()

    def serves(self) -> PairContent | None:
        choice = self.delivery.choose(self.now, self.seconds)
        self.trouble, self.warning = choice.trouble, choice.warning
        return choice.pair.content if choice.pair else None


OPEN: Final = Gate(listed=True)
GOOD: Final = content()
T9: Final = {
    "tomorrow's": (content(at=NOW + DAY), "not valid before"),
    "expired": (content(at=NOW - timedelta(days=400)), "has expired"),
    "another name's": (content(name="other.dynamo-system.svc"), f"must name {NAME}, and names other.dynamo-system.svc"),
    "another key's": (PairContent(GOOD.certificate, content().key, GOOD.bundle), "must be the key of tls.crt"),
    "a stranger's": (content(bundle=NEW.certificate), "must chain to an authority in ca.crt"),
    "without authorities": (content(bundle=b""), "ca.crt must hold"),
    "no certificate": (PairContent(b"nonsense", GOOD.key, GOOD.bundle), "tls.crt must hold"),
    "no key": (PairContent(GOOD.certificate, b"", GOOD.bundle), "tls.key must hold"),
}


@run_each("source", Source)
@run_each(("offered", "words"), T9.values(), ids=T9.keys())
def test_what_must_not_be_served_is_refused_and_the_old_pair_stays(offered: PairContent, words: str, source: Source) -> None:
    server = Server(OPEN)
    assert server.api(GOOD) is GOOD
    server.delivery.store(source, offered)
    assert server.serves() is GOOD
    assert f"{source}: " in server.trouble
    assert words in server.trouble
    alone = Server(OPEN)
    alone.delivery.store(source, offered)
    assert alone.serves() is None
    assert words in alone.trouble


def test_nothing_secret_shows_in_a_text() -> None:
    assert "PRIVATE" not in repr(GOOD)
    assert "PRIVATE" not in repr(accept(GOOD, Source.API, NAME, NOW))


def test_without_anything_every_source_says_why() -> None:
    server = Server()
    assert server.file("tls.crt can't be read: No such file or directory") is None
    assert server.trouble == "api: the API server has not answered yet; file: tls.crt can't be read: No such file or directory"


def test_the_first_good_pair_wins_and_then_the_newest() -> None:
    first, second, third = content(), content(at=NOW + timedelta(minutes=1)), content(at=NOW + timedelta(minutes=2))
    server = Server(OPEN)
    server.now += DAY
    assert server.file(first) is first
    assert server.api(second) is second
    assert server.trouble == ""  # the files are late, which is how they are
    assert server.file(second) is second
    assert server.file(third) is third
    assert server.api(third) is third


def test_files_that_lag_behind_bring_nothing_old_back() -> None:
    first, second = content(), content(at=NOW + timedelta(minutes=1))
    server = Server(OPEN)
    server.now += DAY
    assert server.api(second) is second
    assert server.file(first) is second
    assert server.api("there is no Secret") is second
    assert server.file("tls.crt can't be read") is second
    assert server.trouble == ""


def test_an_older_pair_that_the_secret_was_set_back_to_is_served() -> None:
    first, second = content(), content(at=NOW + timedelta(minutes=1))
    server = Server(OPEN)
    server.now += DAY
    server.api(second)
    assert server.api(first) is first


def test_a_new_issuer_waits_until_it_is_usable_however_long_that_takes() -> None:
    both = OLD.certificate + NEW.certificate
    old, new = content(bundle=both), content(NEW, bundle=both)
    server = Server(usable(OLD))
    assert server.api(old) is old
    assert server.api(new) is old
    assert server.after(TRUST_TIMEOUT_SECONDS * 3) is old
    assert "waiting, because its issuer is not among the usable ones" in server.trouble
    server.delivery.restrict(usable(OLD, NEW))
    assert server.serves() is new
    assert (server.trouble, server.warning) == ("", "")


def test_a_list_that_is_gone_for_a_moment_opens_nothing() -> None:
    """The provisioner deletes an immutable list and makes it anew."""
    old, new = content(), content(NEW)
    server = Server(usable(OLD))
    assert server.api(old) is old
    assert server.api(new) is old
    server.delivery.restrict(OPEN)
    assert server.after(DELETED_LIST_SECONDS) is old
    server.delivery.restrict(usable(OLD))
    assert server.after(DELETED_LIST_SECONDS) is old
    server.delivery.restrict(OPEN)
    assert server.after(DELETED_LIST_SECONDS - 1) is old
    assert server.after(DELETED_LIST_SECONDS - 1) is old
    assert server.after(1) is new


def test_another_leaf_of_the_same_issuer_waits_for_nobody() -> None:
    server = Server(usable())
    server.api(GOOD)
    assert server.after(TRUST_TIMEOUT_SECONDS) is GOOD
    renewed = content(at=NOW + timedelta(minutes=1))
    assert server.api(renewed) is renewed


def test_a_server_without_any_other_pair_waits_five_minutes_and_then_serves_with_a_warning() -> None:
    server = Server(usable(OLD))
    new = content(NEW)
    assert server.api(new) is None
    assert server.after(TRUST_TIMEOUT_SECONDS - 1) is None
    assert server.after(1) is new
    assert "although its issuer is not among the usable ones" in server.warning
    assert server.trouble == ""


def test_an_old_pair_that_expires_is_no_reason_to_wait_longer() -> None:
    server = Server(usable(OLD))
    server.api(GOOD)
    new = content(NEW, at=NOW + timedelta(days=300))
    server.now = NOW + timedelta(days=364)
    assert server.api(new) is GOOD
    assert server.after(DAY.total_seconds()) is new


def test_an_expired_pair_stays_while_there_is_nothing_else() -> None:
    server = Server(OPEN)
    server.api(GOOD)
    server.now = NOW + timedelta(days=365)
    assert server.serves() is GOOD


def test_an_api_server_that_is_not_there_delays_files_for_seconds_only() -> None:
    """T18: the process lives, serves from files, and says why it waited."""
    server = Server()
    assert server.file(GOOD) is None
    assert "the trust ConfigMap has not been read" in server.trouble
    assert server.after(UNLISTED_TIMEOUT_SECONDS) is GOOD
    assert "is not known to be usable" in server.warning
    replaced = content(NEW, at=NOW)
    assert server.file(replaced) is GOOD
    assert server.after(TRUST_TIMEOUT_SECONDS) is replaced


def test_a_foreign_chain_with_an_intermediate_is_accepted_by_its_root() -> None:
    root = trustme.CA()
    middle = root.create_child_ca()
    leaf = middle.issue_cert(NAME)
    chain = b"".join(each.bytes() for each in leaf.cert_chain_pems)
    held = PairContent(chain, leaf.private_key_pem.bytes(), root.cert_pem.bytes())
    accepted = accept(held, Source.FILE, NAME, datetime.now(UTC))
    anchor = read_certificate(root.cert_pem.bytes())
    assert anchor is not None
    assert accepted.authorities == {anchor.fingerprint}
    with pytest.raises(PairError, match="must chain"):
        accept(PairContent(leaf.cert_chain_pems[0].bytes(), held.key, held.bundle), Source.FILE, NAME, datetime.now(UTC))
