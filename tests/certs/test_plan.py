"""The next step where a whole rotation doesn't show it: exits that wait, ways back, the order of emergencies."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from dynamo_webhooks.certs.authority import make_authority
from dynamo_webhooks.certs.plan import next_step, published_bundle, repair
from dynamo_webhooks.certs.state import AuthoritySecret, CertificateState, Endpoint, Hint, Mode, Ownership, Phase, Trust
from dynamo_webhooks.certs.step import (
    CreateAuthority,
    DropPrevious,
    MarkPhase,
    NoStep,
    PromoteNext,
    RewriteServing,
    Step,
    StoreNext,
    Wait,
    WriteBundle,
    WriteServing,
    WriteTrust,
)
from tests.certs.states import NOW, authority, bundle, key, leaf, leaf_pair, pair, read, serving_of, state, targets
from tests.rows import run_each

ROLLING: dict[str, Any] = {"slots": "b<a", "by": "b", "shows": ("ba",), "usable": "ab"}
SECOND = timedelta(seconds=1)
THEIRS = tuple(replace(target, ownership=Ownership.ANNOTATED) for target in targets(bundle("a")))


@run_each(
    ("step", "facts"),
    [
        # ROLL ends after both: each endpoint was probed twice, and the shortest time has passed
        (MarkPhase(Phase.DRAIN), {**ROLLING, "phase": Phase.ROLL, "ago": 180 * SECOND}),
        (Wait, {**ROLLING, "phase": Phase.ROLL, "ago": 179 * SECOND}),
        (Wait, {**ROLLING, "phase": Phase.ROLL, "presents": "ba"}),
        (Wait, {**ROLLING, "phase": Phase.ROLL, "endpoints": (Endpoint("1", leaf("b"), 1),)}),
        # no endpoint can be probed: twice as long
        (Wait, {**ROLLING, "phase": Phase.ROLL, "endpoints": None, "ago": 359 * SECOND}),
        (MarkPhase(Phase.DRAIN), {**ROLLING, "phase": Phase.ROLL, "endpoints": None, "ago": 360 * SECOND}),
        # the beginning is unknown: it begins now
        (MarkPhase(Phase.ROLL), {**ROLLING, "phase": Phase.ROLL, "ago": None}),
        (MarkPhase(Phase.ROLL), {**ROLLING, "phase": Phase.SETTLE}),
        (MarkPhase(Phase.ROLL), {**ROLLING, "phase": Phase.DRAIN, "ago": -SECOND}),
        # DRAIN
        (Wait, {**ROLLING, "phase": Phase.DRAIN, "ago": timedelta(hours=23)}),
        (MarkPhase(Phase.DROP), {**ROLLING, "phase": Phase.DRAIN, "ago": timedelta(hours=24)}),
        (Wait, {**ROLLING, "phase": Phase.DRAIN, "ago": timedelta(hours=24), "presents": "a"}),
        # DROP: permission, trust, oblivion; and back when an old leaf turns up
        (WriteTrust, {**ROLLING, "phase": Phase.DROP}),
        (WriteBundle, {**ROLLING, "phase": Phase.DROP, "usable": "b"}),
        (DropPrevious(), {**ROLLING, "phase": Phase.DROP, "usable": "b", "shows": ("b",)}),
        (DropPrevious(), {**ROLLING, "phase": Phase.DROP, "usable": "b", "shows": ("b",), "ago": None}),
        (MarkPhase(Phase.ROLL), {**ROLLING, "phase": Phase.DROP, "usable": "b", "shows": ("b",), "presents": "ba"}),
        # DROP half done: finished when DRAIN had elapsed, else repaired
        (WriteBundle, {**ROLLING, "phase": Phase.DROP, "usable": "b", "shows": ("b", "ba", "b")}),
        (WriteBundle, {**ROLLING, "phase": Phase.DRAIN, "shows": ("b", "ba", "b"), "trusted": "ba"}),
        # ISSUE half done: first trust, then the rename
        (WriteBundle, {"slots": "a>b", "by": "b", "shows": ("a",), "trusted": "ab", "usable": "ab"}),
        (PromoteNext((authority("a"),)), {"slots": "a>b", "by": "b", "shows": ("ab",), "usable": "ab"}),
        (WriteTrust, {"slots": "a>b", "by": "b", "shows": ("ab",), "usable": "a"}),
        # objects that cert-manager writes block, and are waited for
        (Wait, {"slots": "a>b", "shows": ("a",), "trusted": "ab", "phase": Phase.TRUST, "targets": THEIRS}),
        # emergencies
        (CreateAuthority((authority("a"),)), {"authority": None}),
        (CreateAuthority((authority("a"),)), {"slots": "", "by": "a"}),
        (CreateAuthority(()), {"authority": None, "by": "", "shows": ("",)}),
        (NoStep, {"authority": None, "by": "", "shows": ("",), "skew": timedelta(hours=2)}),
        (StoreNext("key-lost"), {"keys": ""}),
        (StoreNext("key-lost"), {**ROLLING, "by": "", "presents": "b", "keys": "", "phase": Phase.DRAIN}),
        (WriteServing("current", bundle("a"), "missing"), {"by": "", "presents": "a"}),
        (WriteServing("current", bundle("a"), "issuer-differs"), {"by": "f", "presents": "a", "shows": ("a",)}),
        # clients of another issuer's leaf trust the new authority before it signs, in any phase
        (WriteBundle, {"by": "f", "presents": "f", "shows": ("f",)}),
        (WriteBundle, {"by": "f", "presents": "", "shows": ("f",), "phase": None}),
        # the same where the serving Secret is gone as well: servers go on with what they have
        (WriteBundle, {"by": "", "presents": "f", "shows": ("f",)}),
        (WriteBundle, {"by": "", "presents": "f", "shows": ("f",), "phase": Phase.TRUST}),
        (MarkPhase(Phase.TRUST), {"by": "", "presents": "f", "shows": ("f",), "phase": Phase.SETTLE}),
        (Wait, {"by": "", "presents": "f", "shows": ("af",), "usable": "a", "phase": Phase.SETTLE, "ago": 20 * SECOND}),
        (WriteServing, {"by": "", "presents": "f", "shows": ("af",), "usable": "a", "phase": Phase.SETTLE}),
        # the old key still signs while the new one is not trusted yet
        (WriteServing("current", bundle("ab"), "missing"), {"slots": "a>b", "by": "", "presents": "a", "shows": ("a",)}),
        # the older survivor of an emergency stays while its leaf is served, and goes with the next rename otherwise
        (PromoteNext((authority("a"), authority("c"))), {"slots": "a>b<c", "by": "b", "presents": "c", "shows": ("abc",), "usable": "abc"}),
        (PromoteNext((authority("a"),)), {"slots": "a>b<c", "by": "b", "presents": "b", "shows": ("abc",), "usable": "abc"}),
    ],
)
def test_one_step(step: object, facts: dict[str, Any]) -> None:
    """What these facts ask for; of writes with a long content the kind is enough."""
    planned = next_step(state(**facts), NOW)
    assert planned == step or type(planned) is step


def test_waits_end_with_their_reason() -> None:
    """At the end of the phase, of a leaf's youth, or of the time after which everything is read again."""
    settling = state("a>b", shows=("ab",), phase=Phase.SETTLE, ago=20 * SECOND)
    assert next_step(settling, NOW) == Wait(NOW + 100 * SECOND, "every API server must have seen the new authority before it is used")
    quiet = next_step(state(), NOW)
    assert isinstance(quiet, Wait)
    assert quiet.until == NOW + timedelta(minutes=10)
    soon = leaf("a").not_after - leaf("a").life / 3
    before = next_step(state(), soon - 5 * SECOND)
    assert isinstance(before, Wait)
    assert before.until == soon
    assert next_step(state(), soon) == WriteServing("current", bundle("a"), "ends-soon")


def test_an_expired_authority_is_replaced_without_waiting() -> None:
    """Trust first, the leaf right after: nothing valid is served, so waiting prevents no failure."""
    late = NOW + timedelta(days=3700)
    assert next_step(state(), late) == StoreNext("expiry")
    young = make_authority(late, generation=9)
    secret = AuthoritySecret("2", authority("a"), key(pair("a").key), read(young.certificate), key(young.key))
    renewed = replace(state(), authority=secret)
    assert [type(step) for step in follow(renewed, late, 5)] == [RewriteServing, MarkPhase, WriteBundle, WriteBundle, WriteBundle]
    assert [type(step) for step in follow(renewed, late, 9)][5:] == [WriteTrust, WriteServing, WriteServing, WriteServing]


def follow(current: CertificateState, now: datetime, count: int) -> list[Step]:
    """The steps one after another, as if each write but that of the leaf were done."""
    steps: list[Step] = []
    for _ in range(count):
        step = next_step(current, now)
        steps.append(step)
        if isinstance(step, RewriteServing) and current.serving:
            current = replace(current, serving=replace(current.serving, bundle=step.bundle))
        if isinstance(step, MarkPhase) and current.authority:
            current = replace(current, authority=replace(current.authority, hint=Hint(step.phase, now)))
        if isinstance(step, WriteBundle):
            done = replace(step.target, bundles=(step.bundle,))
            current = replace(current, targets=tuple(done if target.name == done.name else target for target in current.targets))
        if isinstance(step, WriteTrust):
            current = replace(current, trust=Trust("2", step.bundle, step.usable))
    return steps


def test_a_damaged_pair_is_signed_again_and_never_rewritten() -> None:
    """Not even to put the right `ca.crt` beside it."""
    torn = replace(state(), serving=serving_of(leaf_pair("a"), b"", key=key(leaf_pair("b").key)))
    assert next_step(torn, NOW) == WriteServing("current", bundle("a"), "key-differs")
    waiting = replace(state("a>b", shows=("a",), phase=Phase.TRUST, keys="b"), serving=torn.serving)
    assert isinstance(next_step(waiting, NOW), WriteBundle)


def test_a_bundle_is_published_once_it_is_everywhere_until_another_one_is_on_its_way() -> None:
    mine, other = state(), state(shows=("a", ""))
    assert published_bundle(mine, NOW, b"") == bundle("a")
    assert published_bundle(other, NOW, b"") == b"", "an object was never seen with it"
    assert published_bundle(other, NOW, bundle("a")) == bundle("a"), "an object lost it"
    assert published_bundle(other, NOW, bundle("ab")) == b"", "it is another one"
    assert published_bundle(replace(mine, mode=Mode.EXTERNAL_INJECTION), NOW, bundle("a")) == b""


@run_each(
    ("changes", "lost"),
    [
        ({}, False),
        ({"bundles": (b"",)}, True),
        ({"bundles": (bundle("a"), bundle("b"))}, True),
        ({"bundles": (), "ownership": Ownership.UNSET}, True),
        ({"bundles": (b"",), "refused": "it is immutable"}, False),
        ({"bundles": (b"",), "ownership": Ownership.FOREIGN}, False),
        ({"bundles": (b"",), "ownership": Ownership.ANNOTATED}, False),
        ({"bundles": (), "ownership": Ownership.ABSENT}, False),
    ],
)
def test_an_object_that_lost_the_published_bundle_gets_it_back(changes: dict[str, Any], *, lost: bool) -> None:
    target = replace(state().targets[0], **changes)
    assert repair(target, bundle("a")) == (WriteBundle(target, bundle("a"), "drift") if lost else None)
    assert repair(target, b"") is None
