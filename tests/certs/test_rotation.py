"""Whole rotations in memory, and random lives of an installation: passes, crashes, late readers, foreign hands; it always heals."""

import base64
import copy
import datetime as dt
from itertools import groupby
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.reading import read_authority
from dynamo_webhooks.certs.state import Mode, Phase
from dynamo_webhooks.certs.step import (
    MarkPhase,
    NoStep,
    Step,
    Wait,
    WriteBundle,
    event_of,
)
from tests.certs.world import CALLED, PROFILE, START, STRANGER, TARGETS, World, leaf_of, left_by_another_operator, secret_of
from tests.rows import run_each


def installed() -> World:
    world = World()
    world.settle_down()
    world.steps.clear()
    return world


def wish(world: World, reason: str = "") -> None:
    world.annotate(**{names.REQUESTED: f"at {world.mono}", **({names.REASON: reason} if reason else {})})


def told(steps: list[Step]) -> list[str]:
    """The steps in words, waits left out and repetitions drawn together."""
    words = [f"{type(act).__name__}{f' {act.phase}' if isinstance(act, MarkPhase) else ''}" for act in steps if not isinstance(act, Wait)]
    return [word for word, _ in groupby(words)]


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
    shown = [tuple(ca.common_name[-1] for ca in read_certificates(step.bundle)) for step in world.steps if isinstance(step, WriteBundle)]
    assert [bundle for bundle, _ in groupby(shown)] == [("1", "2"), ("2", "1"), ("2",)]
    secret = read_authority(world.objects[CALLED.authority])
    assert (secret.generation, secret.requested, secret.handled, secret.reason) == (2, secret.handled, secret.requested, "")
    assert (secret.next, secret.previous) == (None, ())
    assert world.servers[0].leaf != old
    events = [event_of(step)[0] for step in world.steps if event_of(step)[0]]
    assert events == ["CARotationStarted", "CATrustPublished", "LeafIssued", "CARotationCompleted"]


@run_each("with_key", [True, False])
def test_a_secret_of_another_operator_delays_the_first_certificate_by_no_wait(with_key: bool) -> None:
    """No replica serves a trusted certificate, so waiting would prevent no failure: it lasted for the whole settle time."""
    world = World()
    world.put_serving(left_by_another_operator(with_key=with_key))
    began = world.mono
    for _ in range(30):
        assert not isinstance(world.step(), Wait | NoStep)
        for index in range(len(world.servers)):
            world.refresh(index)
        world.advance(1)
        if all(server.leaf and PROFILE.server_name in server.leaf.names for server in world.servers):
            break
    assert world.mono - began < 20
    world.settle_down()


@run_each("gone", [(CALLED.serving,), (CALLED.authority,), (CALLED.authority, CALLED.serving), (CALLED.trust,)])
@run_each("at", [Phase.STABLE, Phase.TRUST, Phase.SETTLE, Phase.ROLL, Phase.DRAIN, Phase.DROP])
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


def test_a_compromised_authority_is_dropped_without_delay() -> None:
    """DRAIN is skipped, since the thief's leaves are trusted during it."""
    world = installed()
    wish(world, "compromised")
    world.settle_down()
    assert "MarkPhase DRAIN" not in told(world.steps)
    assert "DropPrevious" in told(world.steps)


TARGET = st.sampled_from([name for _, name in TARGETS])
SERVER = st.integers(0, 2)
FOREIGN = st.sampled_from([b"", b"\n", STRANGER.certificate, b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
OTHER = secret_of(STRANGER, leaf_of(STRANGER, START - dt.timedelta(minutes=5)))


class Hands(RuleBasedStateMachine):
    """What happens to an installation whoever makes its certificates; the world asserts I2, I5, I6 and I7 at each write."""

    def __init__(self, mode: Mode = Mode.MANAGED) -> None:
        super().__init__()
        self.world = World(mode=mode)

    @rule()
    def crash(self) -> None:
        self.world.crash()

    @rule(seconds=st.sampled_from([0.2, 1, 5, 15, 50, 130, 200, 700]))
    def wait(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule(index=SERVER)
    def refresh(self, index: int) -> None:
        self.world.refresh(index)

    @rule(api=st.integers(0, 1), name=TARGET)
    def look(self, api: int, name: str) -> None:
        self.world.look(api, name)

    @rule(name=TARGET, bundle=FOREIGN)
    def replace_bundle(self, name: str, bundle: bytes) -> None:
        self.world.set_bundle(name, bundle)

    @rule(name=TARGET)
    def apply(self, name: str) -> None:
        self.world.apply(name)

    @invariant()
    def trusted(self) -> None:
        self.world.check_trust()


class Rotation(Hands):
    """One installation."""

    def __init__(self) -> None:
        super().__init__()
        self.wishes = 0
        self.back = 0
        self.snapshots: list[dict[str, Any]] = []

    @initialize(installed=st.booleans(), upto=st.sampled_from(list(Phase)))
    def install(self, installed: bool, upto: Phase) -> None:
        """Starts empty, or in any phase of a rotation."""
        if not installed:
            return
        self.world.settle_down()
        if upto is Phase.STABLE:
            return
        self.wish("")
        for _ in range(60):
            if self.world.phase() is upto:
                break
            if isinstance(self.world.step(), Wait):
                self.world.advance(60)
            for index in range(3):
                self.world.refresh(index)

    # the provisioner

    @rule(passes=st.integers(1, 8))
    def work(self, passes: int) -> None:
        for _ in range(passes):
            if isinstance(self.world.step(), (Wait, NoStep)):
                break
            self.world.check_trust()

    @rule(minutes=st.sampled_from([-180, -61, -59, 0, 0, 0, 59, 61, 180]))
    def clock(self, minutes: int) -> None:
        self.world.skew = dt.timedelta(minutes=minutes)

    # time and readers

    @rule(days=st.sampled_from([0.1, 2, 100, 250, 400]))
    def months(self, days: float) -> None:
        """The provisioner is down for long."""
        self.world.advance(days * 86400)

    @rule(minutes=st.integers(1, 50))
    def set_back(self, minutes: int) -> None:
        """The API server's own clock is corrected, by less than the backdate of certificates in all."""
        minutes = min(minutes, 55 - self.back)
        self.back += minutes
        self.world.wall -= dt.timedelta(minutes=minutes)

    @rule(index=SERVER, late=st.booleans())
    def restart(self, index: int, late: bool) -> None:
        self.world.restart(index, late=late)

    @rule()
    def silence(self) -> None:
        """A network policy hides one server; the others can be asked."""
        if not any(server.silent for server in self.world.servers[1:]):
            self.world.servers[0].silent = not self.world.servers[0].silent

    # foreign hands

    @rule(reason=st.sampled_from(["", "", "compromised"]))
    def wish(self, reason: str) -> None:
        self.wishes += 1
        more = {names.REASON: reason} if reason else {}
        self.world.annotate(**{names.REQUESTED: str(self.wishes), **more})

    @rule(what=st.sampled_from(["authority", "serving", "both"]))
    def delete_secrets(self, what: str) -> None:
        if what in {"authority", "both"}:
            self.world.remove(CALLED.authority)
        if what in {"serving", "both"}:
            self.world.remove(CALLED.serving)

    @precondition(lambda self: not self._foreign_pair())
    @rule()
    def delete_trust(self) -> None:
        self.world.remove(CALLED.trust)

    @rule(
        key=st.sampled_from([names.CURRENT_KEY, names.NEXT_KEY, names.NEXT, names.PREVIOUS]), value=st.sampled_from([None, "", "Cg==", "?"])
    )
    def spoil(self, key: str, value: str | None) -> None:
        self.world.spoil(key, value)

    @rule(
        note=st.sampled_from([names.PHASE, names.SINCE, names.GENERATION]),
        value=st.sampled_from(["", "x", "2026-05-17T12:00:00", "STABLE"]),
    )
    def forget(self, note: str, value: str) -> None:
        """The hints are only hints."""
        self.world.annotate(**{note: value})

    @rule(name=st.sampled_from(["graphs", "requests"]))
    def reset_stanza(self, name: str) -> None:
        self.world.reset_stanza(name)

    @rule(name=TARGET)
    def remove_target(self, name: str) -> None:
        self.world.remove_target(name)

    @rule()
    def keep_copy(self) -> None:
        if CALLED.serving in self.world.objects:
            self.snapshots.append(copy.deepcopy(self.world.objects[CALLED.serving]))

    @precondition(lambda self: CALLED.trust in self.world.objects)
    @rule(index=st.integers(0, 3))
    def put_back(self, index: int) -> None:
        """Restores an old copy of the serving Secret, or writes a foreign pair to it."""
        copies = [OTHER, *self.snapshots]
        self.world.put_serving(copies[index % len(copies)])

    @rule(
        key=st.sampled_from(["tls.crt", "tls.key", "ca.crt"]), value=st.sampled_from([b"", b"nonsense", STRANGER.certificate, STRANGER.key])
    )
    def damage(self, key: str, value: bytes) -> None:
        """One key of the serving Secret is overwritten."""
        if CALLED.serving in self.world.objects:
            node = copy.deepcopy(self.world.objects[CALLED.serving])
            node["data"][key] = base64.b64encode(value).decode()
            self.world.put_serving(node)

    def _foreign_pair(self) -> bool:
        node = self.world.objects.get(CALLED.serving)
        return bool(node) and node is not None and node["metadata"]["resourceVersion"] in self.world.foreign

    def teardown(self) -> None:
        """Every state recovers."""
        self.world.settle_down()


TestRotation = Rotation.TestCase
TestRotation.settings = settings(max_examples=12, stateful_step_count=25, derandomize=True, suppress_health_check=list(HealthCheck))
