"""Whole rotations in memory, beside other writers: the steps, their order, and that no request fails."""

import base64
import copy
import datetime as dt
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

import pytest

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.authority import KeyPair, make_authority
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.plan import next_step
from dynamo_webhooks.certs.policy import derive
from dynamo_webhooks.certs.reading import read_authority, read_serving, read_trust
from dynamo_webhooks.certs.report import reports, unready
from dynamo_webhooks.certs.state import Phase
from dynamo_webhooks.certs.step import (
    AdoptAuthority,
    DropPrevious,
    MarkPhase,
    Nothing,
    PromoteNext,
    RewriteServing,
    Step,
    StoreNext,
    Wait,
    WriteBundle,
    WriteServing,
    event_of,
)
from tests.certs.world import CALLED, START, STRANGER, TARGETS, Node, World, leaf_of, secret_of

HOUR = dt.timedelta(hours=1)


def installed() -> World:
    world = World()
    world.settle_down()
    world.steps.clear()
    return world


def wish(world: World, reason: str = "") -> None:
    world.annotate(**{names.REQUESTED: f"at {world.mono}", **({names.REASON: reason} if reason else {})})


def told(steps: list[Step]) -> list[str]:
    """The steps in words, waits left out and repetitions drawn together."""
    words = [f"{type(one).__name__}{f' {one.phase}' if isinstance(one, MarkPhase) else ''}" for one in steps if not isinstance(one, Wait)]
    return [word for word, _ in groupby(words)]


def test_first_install() -> None:
    """Complete objects from the first write on: authority, certificate, then trust, CRDs before the rest."""
    world = World()
    world.settle_down()
    assert told(world.steps) == ["CreateAuthority", "WriteServing", "WriteBundle", "WriteTrust", "MarkPhase STABLE"]
    written = [one.target.name for one in world.steps if isinstance(one, WriteBundle)]
    assert written == ["graphs", "requests", "mutating", "validating"]
    assert all(server.leaf for server in world.servers)
    assert unready(world.gather(), world.wall) is None


def test_a_wished_rotation() -> None:
    """T2: trust, wait, permission, use, look, wait, withdraw; the bundles are exactly {A}, {A,B}, {B,A}, {B}."""
    world = installed()
    old = world.servers[0].leaf
    wish(world)
    world.settle_down()
    assert told(world.steps) == [
        *("StoreNext", "RewriteServing", "WriteBundle", "WriteTrust", "MarkPhase SETTLE"),
        *("WriteTrust", "WriteServing", "PromoteNext", "RewriteServing", "WriteBundle", "WriteTrust"),
        *("MarkPhase DRAIN", "MarkPhase DROP", "WriteTrust", "WriteBundle", "RewriteServing", "WriteTrust", "DropPrevious"),
    ]
    shown = [tuple(one.common_name[-1] for one in read_certificates(step.bundle)) for step in world.steps if isinstance(step, WriteBundle)]
    assert [bundle for bundle, _ in groupby(shown)] == [("1", "2"), ("2", "1"), ("2",)]
    secret = read_authority(world.objects[CALLED.authority])
    assert (secret.generation, secret.requested, secret.handled, secret.reason) == (2, secret.handled, secret.requested, "")
    assert (secret.next, secret.previous) == (None, ())
    assert world.servers[0].leaf != old
    events = [event_of(step)[0] for step in world.steps if event_of(step)[0]]
    assert events == ["CARotationStarted", "CATrustPublished", "LeafIssued", "CARotationCompleted"]


def test_killed_after_every_write() -> None:
    """T3: a provisioner that forgets everything after each pass ends in the same place, by the same writes."""
    calm, killed = installed(), installed()
    wish(calm)
    calm.settle_down()
    wish(killed)
    for _ in range(400):
        step = killed.step()
        killed.check_trust()
        if isinstance(step, Wait):
            for index in range(3):
                killed.refresh(index)
            killed.advance(60)
            killed.step()
            killed.advance(11)
        else:
            killed.crash()
        if isinstance(step, DropPrevious):
            break
    killed.settle_down()
    assert told(killed.steps) == told(calm.steps)


def test_one_frozen_server_holds_the_rotation_up() -> None:
    """T4: both authorities stay trusted until the end, and an Event names the silent endpoint."""
    world = installed()
    wish(world)
    for _ in range(60):
        if isinstance(world.step(), Wait):
            world.advance(60)
        world.refresh(0)
        world.refresh(1)
        world.check_trust()
    assert world.phase() is Phase.ROLL
    assert any(found.reason == "CARotationStuck" and "2 still present" in found.text for found in reports(world.gather(), world.wall))
    world.settle_down()
    assert world.phase() is Phase.STABLE


@pytest.mark.parametrize("gone", [(CALLED.serving,), (CALLED.authority,), (CALLED.authority, CALLED.serving), (CALLED.trust,)])
@pytest.mark.parametrize("at", [Phase.STABLE, Phase.TRUST, Phase.SETTLE, Phase.ROLL, Phase.DRAIN, Phase.DROP])
def test_secrets_deleted_in_every_phase(gone: tuple[str, ...], at: Phase) -> None:
    """T5: the served leaf stays trusted, and missing objects are created again."""
    world = installed()
    if at is not Phase.STABLE:
        wish(world)
        for _ in range(100):
            if world.phase() is at:
                break
            if isinstance(world.step(), Wait):
                world.advance(30)
            for index in range(3):
                world.refresh(index)
    assert world.phase() is at
    for name in gone:
        world.remove(name)
    world.settle_down()
    assert set(world.objects) == {CALLED.serving, CALLED.authority, CALLED.trust}


def test_what_replaces_a_lost_secret_and_forgets_signs_only_when_it_is_trusted() -> None:
    """The CA Secret is deleted; another client removes the old authority that its replacement still trusts."""
    world = installed()
    world.remove(CALLED.authority)
    world.step()
    world.spoil(names.PREVIOUS, None)
    world.check_trust()
    world.settle_down()  # checks at every step that each object trusts what each server presents
    assert world.phase() is Phase.STABLE


def test_a_lost_key_rotates_with_overlap() -> None:
    """T6: the old certificate stays trusted meanwhile."""
    world = installed()
    world.spoil(names.CURRENT_KEY, "Cg==")
    world.settle_down()
    assert [step.reason for step in world.steps if isinstance(step, StoreNext)] == ["key-lost"]


@pytest.mark.parametrize("bundle", [b"", b"\n", STRANGER.certificate])
def test_a_bundle_is_repaired_at_once(bundle: bytes) -> None:
    """T7: one write, of that object only, and one Event."""
    for _, name in TARGETS:
        world = installed()
        world.set_bundle(name, bundle)
        step = world.step()
        assert isinstance(step, WriteBundle)
        assert (step.target.name, step.reason, event_of(step)[0]) == (name, "drift", "TrustDriftRepaired")
        assert isinstance(world.step(), Wait)


def test_a_stanza_is_repaired_at_once() -> None:
    """A CRD whose conversion was reset gets all of it back."""
    world = installed()
    world.reset_stanza("graphs")
    assert isinstance(world.step(), WriteBundle)
    assert unready(world.gather(), world.wall) is None


@lru_cache
def reference_authority() -> KeyPair:
    return make_authority(START, key_kind="rsa-2048", generation=0, organisation="NVIDIA")


def reference() -> World:
    """What the Go operator leaves: its authority's key beside the leaf, its bundle everywhere."""
    world = World()
    authority = reference_authority()
    world.put_serving(secret_of(authority, leaf_of(authority), with_key=True))
    for _, name in TARGETS:
        world.set_bundle(name, authority.certificate)
    for index in range(3):
        world.refresh(index)
    return world


def test_adoption() -> None:
    """T10: the key leaves the serving Secret before anything else changes, and an own authority replaces the old one."""
    world = reference()
    served = world.servers[0].leaf
    assert isinstance(world.step(), AdoptAuthority)
    assert [type(world.step()) for _ in range(2)] == [StoreNext, RewriteServing]
    serving = read_serving(world.objects[CALLED.serving])
    assert (serving.holds_authority_key, serving.leaf) == (False, served)
    world.settle_down()
    assert [step.reason for step in world.steps if isinstance(step, StoreNext)] == ["adopted"]
    secret = read_authority(world.objects[CALLED.authority])
    assert secret.current is not None
    assert (secret.current.common_name, secret.current.key_kind) == ("dynamo-webhook-ca-2", "ecdsa-p256")


def test_a_wrong_clock_signs_nothing_and_repairs_all_the_same() -> None:
    """T12: nothing is issued, nothing rotated; an emptied bundle is written."""
    for hours in (-2, 2):
        world = installed()
        world.skew = hours * HOUR
        wish(world)
        world.remove(CALLED.serving)
        world.set_bundle("graphs", b"")
        for _ in range(10):
            world.step()
        assert {type(step) for step in world.steps} <= {WriteBundle, Wait, Nothing}
        assert any(isinstance(step, WriteBundle) for step in world.steps)
        assert [found.reason for found in reports(world.gather(), world.wall)] == ["ClockSkew"]
        found = unready(world.gather(), world.wall)
        assert found is not None
        assert found[0] == "clock-differs"
        world.settle_down()


def test_nothing_is_signed_on_an_empty_cluster_with_a_wrong_clock() -> None:
    """Not even the first authority."""
    world = World(skew=2 * HOUR)
    assert isinstance(world.step(), Nothing)
    assert not world.objects


def test_an_object_that_refuses_blocks_trust_and_nothing_else() -> None:
    """Others are written, the certificate is renewed, and the rotation waits."""
    world = installed()
    wish(world)
    world.step()
    written = set()
    for _ in range(12):
        state = world.gather()
        state = replace(state, targets=tuple(replace(one, refused="forbidden" * (one.name == "graphs")) for one in state.targets))
        step = next_step(state, world.wall)
        if isinstance(step, WriteBundle):
            written.add(step.target.name)
        if isinstance(step, Wait):
            break
        world.perform(state, step)
    assert written == {"requests", "mutating", "validating"}
    assert isinstance(step, Wait)
    assert "can't be written" in step.why
    assert derive(state, world.wall) is Phase.TRUST
    late = state.timings.roll_warn + HOUR
    stuck = [found.text for found in reports(state, world.wall + late) if found.reason == "CARotationStuck"]
    assert stuck == ["phase TRUST: the bundle can't be written to CustomResourceDefinition graphs (forbidden)"]


def test_a_compromised_authority_is_dropped_without_delay() -> None:
    """DRAIN is skipped, since the thief's leaves are trusted during it."""
    world = installed()
    wish(world, "compromised")
    world.settle_down()
    assert "MarkPhase DRAIN" not in told(world.steps)
    assert "DropPrevious" in told(world.steps)


def test_an_old_secret_put_back_is_signed_again() -> None:
    """A restored backup during DRAIN: both authorities are trusted, so the new leaf is written at once."""
    world = installed()
    copy_of = copy.deepcopy(world.objects[CALLED.serving])
    wish(world)
    while world.phase() is not Phase.DRAIN:
        if isinstance(world.step(), Wait):
            world.advance(60)
        for index in range(3):
            world.refresh(index)
    world.put_serving(copy_of)
    for index in range(3):
        world.restart(index, late=False)
    world.check_trust()
    world.steps.clear()
    world.step()
    assert [type(step) for step in world.steps] == [WriteServing]
    world.settle_down()


def test_a_strangers_leaf_is_not_used_and_not_trusted() -> None:
    """The gate holds it, the next pass replaces it, no object ever trusts it."""
    world = installed()
    mine = world.servers[0].leaf
    world.put_serving(secret_of(STRANGER, leaf_of(STRANGER)))
    world.refresh(0)
    assert world.servers[0].leaf == mine
    step = world.step()
    assert isinstance(step, WriteServing)
    assert step.reason == "issuer-differs"
    assert isinstance(world.step(), Wait)


def test_nothing_secret_is_shown() -> None:
    """States and steps may be logged."""
    world = World()
    shown = []
    for _ in range(12):
        state = world.gather()
        step = next_step(state, world.wall)
        shown.append(f"{state!r} {step!r}")
        world.perform(state, step)
    secrets = [base64.b64decode(value).splitlines()[1] for node in stored_keys(world) for value in node]
    assert len(secrets) == 2
    assert not [one for one in secrets if one.decode() in "".join(shown)]


def stored_keys(world: World) -> list[list[str]]:
    secrets: list[Node] = [world.objects[CALLED.authority], world.objects[CALLED.serving]]
    return [[value for key, value in node["data"].items() if key.endswith(".key")] for node in secrets]


def test_permission_is_given_before_use_and_withdrawn_before_trust() -> None:
    """`usable` lists the new authority before a leaf of it is written, and the old one no longer when trust of it ends."""
    world = installed()
    wish(world)
    seen: list[tuple[str, int]] = []
    while not isinstance(step := world.step(), DropPrevious):
        if isinstance(step, Wait):
            world.advance(60)
        for index in range(3):
            world.refresh(index)
        seen.append((type(step).__name__, len(read_trust(world.objects[CALLED.trust]).usable)))
    issued, promoted = seen.index((WriteServing.__name__, 2)), seen.index((PromoteNext.__name__, 2))
    assert issued < promoted
    last = [count for name, count in seen if name == WriteBundle.__name__][-4:]
    assert last == [1, 1, 1, 1]
    assert seen[0] == (StoreNext.__name__, 1)


def test_a_stranger_in_the_secret_and_no_authority() -> None:
    """The pair's origin is unknown: it is trusted for a while, but servers with another pair keep that."""
    world = installed()
    world.put_serving(secret_of(STRANGER, leaf_of(STRANGER)))
    world.remove(CALLED.authority)
    for _ in range(40):
        step = world.step()
        for index in range(3):
            world.refresh(index)
            world.check_trust()
        if isinstance(step, Wait):
            world.advance(15)
    world.settle_down()
