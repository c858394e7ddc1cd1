"""Fuzzes an installation with external certificates: swaps at any time, late readers, crashes, drift."""

import datetime as dt

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dynamo_webhooks.certs.authority import make_authority
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.reading import read_serving, read_trust
from dynamo_webhooks.certs.state import Mode
from dynamo_webhooks.certs.step import MarkPhase, Nothing, Wait, WriteBundle, WriteTrust
from tests.certs.world import CALLED, START, STRANGER, TARGETS, World, leaf_of, secret_of

AUTHORITIES = [make_authority(START, generation=number, organisation="somebody else") for number in range(3)]
TARGET = st.sampled_from([name for _, name in TARGETS])
ALLOWED = (WriteBundle, WriteTrust, MarkPhase, Wait, Nothing)


class Provided(RuleBasedStateMachine):
    """The foreign writer swaps leaf and authority in one write, whenever it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(mode=Mode.PROVIDED)

    @initialize(settled=st.booleans())
    def install(self, settled: bool) -> None:
        self.swap(0)
        if settled:
            self.work(60)

    @rule(number=st.integers(0, 2))
    def swap(self, number: int) -> None:
        self.world.put_serving(secret_of(AUTHORITIES[number], leaf_of(AUTHORITIES[number])))

    @rule(passes=st.integers(1, 12))
    def work(self, passes: int) -> None:
        for _ in range(passes):
            step = self.world.step()
            assert isinstance(step, ALLOWED)
            self.world.check_trust()
            if isinstance(step, (Wait, Nothing)):
                self.world.advance(11)

    @rule()
    def crash(self) -> None:
        self.world.crash()

    @rule(seconds=st.sampled_from([1, 5, 15, 130, 700]))
    def wait(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule(minutes=st.integers(1, 5))
    def set_back(self, minutes: int) -> None:
        if self.world.wall - dt.timedelta(minutes=minutes) > START:
            self.world.wall -= dt.timedelta(minutes=minutes)

    @rule(index=st.integers(0, 2))
    def refresh(self, index: int) -> None:
        self.world.refresh(index)

    @rule(api=st.integers(0, 1), name=TARGET)
    def look(self, api: int, name: str) -> None:
        self.world.look(api, name)

    @rule(name=TARGET, bundle=st.sampled_from([b"", STRANGER.certificate]))
    def replace_bundle(self, name: str, bundle: bytes) -> None:
        self.world.set_bundle(name, bundle)

    @rule(name=TARGET)
    def apply(self, name: str) -> None:
        self.world.apply(name)

    @invariant()
    def trusted(self) -> None:
        self.world.check_trust()

    def teardown(self) -> None:
        """When the swaps end, every object shows exactly what the Secret brings, and only that may be used."""
        for _ in range(50):
            self.work(1)
            for index in range(3):
                self.world.refresh(index)
            self.world.check_trust()
            self.world.advance(20)
        authorities = read_serving(self.world.objects[CALLED.serving]).authorities
        for target in self.world.gather().targets:
            assert [read_certificates(found) for found in target.bundles] == [authorities] * len(target.bundles)
        assert read_trust(self.world.objects[CALLED.trust]).usable == {one.fingerprint for one in authorities}
        assert all(server.leaf and authorities[0].issued(server.leaf) for server in self.world.servers)


TestProvided = Provided.TestCase
TestProvided.settings = settings(max_examples=8, stateful_step_count=20, derandomize=True, suppress_health_check=list(HealthCheck))
