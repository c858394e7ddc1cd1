"""External certificates: a swap of authority and leaf in one write is overlapped; with external trust, differences are reported."""

import datetime as dt
from dataclasses import replace

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from dynamo_webhooks.certs.authority import KeyPair, encode_key, make_authority
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.plan import next_step
from dynamo_webhooks.certs.provided import bundle_of, phase
from dynamo_webhooks.certs.reading import read_serving, read_trust
from dynamo_webhooks.certs.report import find_unready_cause, make_gauges
from dynamo_webhooks.certs.state import Endpoint, Mode, Ownership, Phase, Target, TargetKind
from dynamo_webhooks.certs.step import MarkPhase, NoStep, Wait, WriteBundle, WriteTrust
from tests.certs.states import BORN, NOW, authority, bundle, leaf_pair, pair, read, serving_of, state
from tests.certs.test_rotation import Hands
from tests.certs.world import CALLED, START, TARGETS, World, leaf_of, secret_of

FIRST, SECOND, THIRD = (make_authority(START, generation=number, organisation="somebody else") for number in (1, 2, 3))
ALLOWED = (WriteBundle, WriteTrust, MarkPhase, Wait, NoStep)


def shown(world: World) -> set[tuple[str, ...]]:
    return {tuple(cert.fingerprint for cert in read_certificates(pem)) for target in world.gather().targets for pem in target.bundles}


def test_without_trust_nothing_can_be_done() -> None:
    """Without `ca.crt`, the configured bundle is used; without both, an Event reports it."""
    bare = replace(state(), mode=Mode.PROVIDED, authority=None, serving=serving_of(leaf_pair("a"), b""))
    assert isinstance(next_step(replace(bare, serving=None), NOW), NoStep)
    step = next_step(bare, NOW)
    assert isinstance(step, NoStep)
    assert "must hold ca.crt" in step.why
    assert phase(bare, NOW) is Phase.BOOTSTRAP
    assert bundle_of(replace(bare, configured_trust=bundle("a")), NOW) == bundle("a")
    assert find_unready_cause(bare, NOW) == ("trust-unknown", "ca.crt must hold the authority of tls.crt")


def test_a_drift_restarts_the_waiting() -> None:
    """The phase goes back before the repair, so that a crash in between leaves no old timer running."""
    waiting = replace(
        state(by="b", presents="a", shows=("ba", "a", "ba"), usable="a"),
        mode=Mode.PROVIDED,
        authority=None,
        serving=serving_of(leaf_pair("b"), bundle("b")),
    )
    assert waiting.trust is not None
    waiting = replace(waiting, trust=replace(waiting.trust, bundle=bundle("ba"), hint=state(phase=Phase.SETTLE).hint))
    assert phase(waiting, NOW) is Phase.TRUST
    assert next_step(waiting, NOW) == MarkPhase(Phase.TRUST)


def test_a_certificate_is_held_back_only_where_an_older_one_may_work() -> None:
    """Servers that began before the gate serve the new issuer's certificate; one that serves an older one gets its time."""
    alone = replace(state(usable=""), mode=Mode.PROVIDED, authority=None)
    assert alone.trust is not None
    gate = replace(alone.trust, usable=frozenset())
    alone = replace(alone, trust=gate)
    silent = (*(alone.endpoints or ()), Endpoint("9"))
    assert phase(replace(alone, endpoints=silent), NOW) is Phase.ISSUE, "no other authority is trusted"
    trusted = replace(alone, trust=replace(gate, bundle=bundle("ab")), targets=state(shows=("ab", "ab", "ab")).targets)
    assert phase(trusted, NOW) is Phase.ISSUE
    assert phase(replace(trusted, endpoints=silent), NOW) is Phase.SETTLE
    older = (*(alone.endpoints or ()), Endpoint("9", read(leaf_pair("b").certificate), 2))
    assert phase(replace(trusted, endpoints=older), NOW) is Phase.SETTLE


def test_an_old_authority_is_kept_while_no_endpoint_can_be_probed() -> None:
    """The old bundle stays for one drain after the first use of the new one."""
    provided = replace(
        state(by="b", shows=("ba",), usable="ab", endpoints=(Endpoint("1"),)),
        mode=Mode.PROVIDED,
        authority=None,
        serving=serving_of(leaf_pair("b"), bundle("b")),
    )
    assert provided.trust is not None
    for ago, expected in ((dt.timedelta(hours=23), "ba"), (dt.timedelta(hours=24), "b")):
        hint = state(phase=Phase.ROLL, ago=ago).hint
        assert bundle_of(replace(provided, trust=replace(provided.trust, hint=hint)), NOW) == bundle(expected)


def test_an_authority_behind_an_intermediate() -> None:
    """`tls.crt` may carry the chain; the root in `ca.crt` is what must be trusted."""
    key, root = ec.generate_private_key(ec.SECP256R1()), authority("a")
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "between")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(root.parsed.subject).public_key(key.public_key()).serial_number(5)
    builder = builder.not_valid_before(BORN).not_valid_after(NOW + dt.timedelta(days=300))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    signer = load_pem_private_key(pair("a").key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    between = KeyPair(builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM), encode_key(key))
    made = leaf_of(between, NOW)
    serving = serving_of(KeyPair(made.certificate + between.certificate, made.key), bundle("a"))
    chained = replace(state(), mode=Mode.PROVIDED, authority=None, serving=serving, endpoints=(Endpoint("1", read(made.certificate), 2),))
    assert find_unready_cause(chained, NOW) is None
    assert bundle_of(chained, NOW) == bundle("a")


def external(*bundles: bytes) -> Target:
    return Target(TargetKind.VALIDATING, "x", bundles=bundles)


def test_external_injection_only_compares() -> None:
    """No object is written; the gate of an earlier mode is extended by new authorities that are trusted."""
    theirs = replace(state(usable="b"), mode=Mode.EXTERNAL_INJECTION, authority=None, targets=(external(bundle("ba")),))
    assert next_step(theirs, NOW) == WriteTrust(bundle("a"), frozenset({authority("a").fingerprint, authority("b").fingerprint}))
    for before in (replace(theirs, trust=None), replace(theirs, targets=(external(bundle("b")),)), state(shows=("b",))):
        quiet = replace(before, mode=Mode.EXTERNAL_INJECTION, authority=None)
        assert isinstance(next_step(quiet, NOW), Wait)
    wrong = replace(theirs, targets=(external(bundle("a"), b""),))
    assert find_unready_cause(wrong, NOW) == ("trust-differs", "ValidatingWebhookConfiguration x doesn't trust the certificate")
    annotated = replace(external(bundle("ab")), ownership=Ownership.ANNOTATED)
    assert find_unready_cause(replace(theirs, targets=(annotated,), trust=None), NOW) is None


def test_trust_stays_in_sync_while_the_serving_secret_is_away() -> None:
    """Servers go on with the pair that they have, and every object still shows whom to trust."""
    world = World(mode=Mode.PROVIDED)
    world.put_serving(secret_of(FIRST, leaf_of(FIRST)))
    run(world)
    before = shown(world)
    world.remove(CALLED.serving)
    in_sync = [*make_gauges(world.gather(), world.wall)["trust_in_sync"].values()]
    assert in_sync == [1.0] * len(TARGETS)
    run(world)
    assert shown(world) == before
    world.set_bundle(TARGETS[0][1], FIRST.certificate + SECOND.certificate)
    assert 0.0 in [*make_gauges(world.gather(), world.wall)["trust_in_sync"].values()]


AUTHORITIES = (FIRST, SECOND, THIRD)


def run(world: World) -> None:
    """The provisioner and the servers go on; only trust is ever written."""
    for _ in range(60):
        work(world, 1)
        for index in range(3):
            world.refresh(index)
        world.check_trust()
        world.advance(20)


def work(world: World, passes: int) -> None:
    for _ in range(passes):
        step = world.step()
        assert isinstance(step, ALLOWED)
        world.check_trust()
        if isinstance(step, (Wait, NoStep)):
            world.advance(11)


class Provided(Hands):
    """The foreign writer swaps leaf and authority in one write, whenever it likes."""

    def __init__(self) -> None:
        super().__init__(Mode.PROVIDED)

    @initialize(settled=st.booleans())
    def install(self, settled: bool) -> None:
        self.swap(0)
        if settled:
            work(self.world, 60)

    @rule(number=st.integers(0, 2))
    def swap(self, number: int) -> None:
        self.world.put_serving(secret_of(AUTHORITIES[number], leaf_of(AUTHORITIES[number])))

    @rule(passes=st.integers(1, 12))
    def work(self, passes: int) -> None:
        work(self.world, passes)

    @rule(minutes=st.integers(1, 5))
    def set_back(self, minutes: int) -> None:
        if self.world.wall - dt.timedelta(minutes=minutes) > START:
            self.world.wall -= dt.timedelta(minutes=minutes)

    def teardown(self) -> None:
        """When the swaps end, every object shows exactly what the Secret brings, and only that may be used."""
        run(self.world)
        authorities = read_serving(self.world.objects[CALLED.serving]).authorities
        for target in self.world.gather().targets:
            assert [read_certificates(pem) for pem in target.bundles] == [authorities] * len(target.bundles)
        assert read_trust(self.world.objects[CALLED.trust]).usable == {cert.fingerprint for cert in authorities}
        assert all(server.leaf and authorities[0].issued(server.leaf) for server in self.world.servers)


TestProvided = Provided.TestCase
TestProvided.settings = settings(max_examples=8, stateful_step_count=20, derandomize=True, suppress_health_check=list(HealthCheck))
