"""External certificates: a swap of authority and leaf in one write is overlapped; with external trust, differences are reported."""

import datetime as dt
from dataclasses import replace
from itertools import permutations

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from dynamo_webhooks.certs.authority import KeyPair, encode_key, make_authority
from dynamo_webhooks.certs.certificate import read_certificates
from dynamo_webhooks.certs.plan import next_step
from dynamo_webhooks.certs.provided import bundle_of, phase
from dynamo_webhooks.certs.reading import read_trust
from dynamo_webhooks.certs.report import gauges, unready
from dynamo_webhooks.certs.state import Endpoint, Mode, Phase, Stance, Target, TargetKind
from dynamo_webhooks.certs.step import MarkPhase, Nothing, Wait, WriteBundle, WriteTrust
from tests.certs.states import BORN, NOW, authority, bundle, leaf_pair, pair, serving_of, state
from tests.certs.world import CALLED, START, TARGETS, World, certificate, leaf_of, secret_of

FIRST, SECOND, THIRD = (make_authority(START, generation=number, organisation="somebody else") for number in (1, 2, 3))
ALLOWED = (WriteBundle, WriteTrust, MarkPhase, Wait, Nothing)


def run(world: World, passes: int = 60, readers: tuple[int, ...] = (0, 1, 2)) -> None:
    """The provisioner and the servers go on; only trust is ever written."""
    for _ in range(passes):
        step = world.step()
        assert isinstance(step, ALLOWED)
        world.check_trust()
        for index in readers:
            world.refresh(index)
        world.check_trust()
        if isinstance(step, (Wait, Nothing)):
            world.advance(30)


def provided() -> World:
    world = World(mode=Mode.PROVIDED)
    world.put_serving(secret_of(FIRST, leaf_of(FIRST)))
    run(world)
    return world


def shown(world: World) -> set[tuple[str, ...]]:
    return {tuple(one.fingerprint for one in read_certificates(found)) for target in world.gather().targets for found in target.bundles}


def fingerprint(made: KeyPair) -> str:
    return certificate(made.certificate).fingerprint


def test_an_installation() -> None:
    """What the Secret brings is trusted everywhere, CRDs too, and only then may be used."""
    world = World(mode=Mode.PROVIDED)
    assert isinstance(world.step(), Nothing)
    leaf = leaf_of(FIRST)
    world.put_serving(secret_of(FIRST, leaf))
    run(world)
    assert shown(world) == {(fingerprint(FIRST),)}
    assert {server.leaf for server in world.servers} == {certificate(leaf.certificate)}
    assert unready(world.gather(), world.wall) is None
    assert CALLED.authority not in world.objects


@pytest.mark.parametrize("order", list(permutations(range(3), 3)))
def test_a_swap_in_one_write(order: tuple[int, ...]) -> None:
    """T15: the gate holds the leaf until the trust is published and settled; the old authority goes when its leaf is no longer served."""
    world = provided()
    old = world.servers[0].leaf
    world.put_serving(secret_of(SECOND, leaf_of(SECOND)))
    for index in order:
        world.refresh(index)
    assert all(server.leaf == old for server in world.servers)
    run(world, 2)
    assert all(server.leaf == old for server in world.servers)
    run(world, 60)
    assert all(server.leaf != old for server in world.servers)
    assert shown(world) == {(fingerprint(SECOND),)}
    assert read_trust(world.objects[CALLED.trust]).usable == {fingerprint(SECOND)}


def test_a_slow_server_keeps_its_authority_trusted() -> None:
    """Every object holds both authorities until the rotation ends."""
    world = provided()
    world.put_serving(secret_of(SECOND, leaf_of(SECOND)))
    run(world, 80, readers=(0, 1))
    assert shown(world) == {(fingerprint(SECOND), fingerprint(FIRST))}
    run(world, 80)
    assert shown(world) == {(fingerprint(SECOND),)}


def test_swaps_in_quick_succession() -> None:
    """A third authority before the second was ever used; crashes on the way."""
    world = provided()
    for made in (SECOND, THIRD, FIRST, THIRD):
        world.put_serving(secret_of(made, leaf_of(made)))
        run(world, 4)
        world.crash()
    run(world, 80)
    assert shown(world) == {(fingerprint(THIRD),)}


@pytest.mark.parametrize("found", [b"", FIRST.certificate, SECOND.certificate])
def test_drift_is_repaired(found: bytes) -> None:
    """As in mode `managed`, and a stranger's authority spreads nowhere."""
    world = provided()
    for _, name in TARGETS:
        world.set_bundle(name, found)
        run(world, 5)
        assert shown(world) == {(fingerprint(FIRST),)}


def test_without_trust_nothing_can_be_done() -> None:
    """Without `ca.crt`, the configured bundle is used; without both, an Event reports it."""
    bare = replace(state(), mode=Mode.PROVIDED, authority=None, serving=serving_of(leaf_pair("a"), b""))
    step = next_step(bare, NOW)
    assert isinstance(step, Nothing)
    assert "must hold ca.crt" in step.why
    assert phase(bare, NOW) is Phase.BOOTSTRAP
    assert bundle_of(replace(bare, configured_trust=bundle("a")), NOW) == bundle("a")
    assert unready(bare, NOW) == ("trust-unknown", "ca.crt must hold the authority of tls.crt")


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


def test_an_old_authority_is_kept_while_no_endpoint_can_be_probed() -> None:
    """The old bundle stays for one drain after the first use of the new one."""
    asked = replace(
        state(by="b", shows=("ba",), usable="ab", endpoints=(Endpoint("1"),)),
        mode=Mode.PROVIDED,
        authority=None,
        serving=serving_of(leaf_pair("b"), bundle("b")),
    )
    assert asked.trust is not None
    for ago, expected in ((dt.timedelta(hours=23), "ba"), (dt.timedelta(hours=24), "b")):
        hint = state(phase=Phase.ROLL, ago=ago).hint
        assert bundle_of(replace(asked, trust=replace(asked.trust, hint=hint)), NOW) == bundle(expected)


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
    chained = replace(
        state(), mode=Mode.PROVIDED, authority=None, serving=serving, endpoints=(Endpoint("1", certificate(made.certificate), 2),)
    )
    assert unready(chained, NOW) is None
    assert bundle_of(chained, NOW) == bundle("a")


def external(*bundles: bytes) -> Target:
    return Target(TargetKind.VALIDATING, "x", bundles=bundles)


def test_external_injection_only_compares() -> None:
    """No object is written; the gate of an earlier mode is extended by new authorities that are trusted."""
    theirs = replace(state(usable="b"), mode=Mode.EXTERNAL_INJECTION, authority=None, targets=(external(bundle("ba")),))
    assert next_step(theirs, NOW) == WriteTrust(bundle("a"), frozenset({authority("a").fingerprint, authority("b").fingerprint}))
    for found in (replace(theirs, trust=None), replace(theirs, targets=(external(bundle("b")),)), state(shows=("b",))):
        quiet = replace(found, mode=Mode.EXTERNAL_INJECTION, authority=None)
        assert isinstance(next_step(quiet, NOW), Wait)
    wrong = replace(theirs, targets=(external(bundle("a"), b""),))
    assert unready(wrong, NOW) == ("trust-differs", "ValidatingWebhookConfiguration x doesn't trust the certificate")
    annotated = replace(external(bundle("ab")), stance=Stance.ANNOTATED)
    assert unready(replace(theirs, targets=(annotated,), trust=None), NOW) is None


def test_trust_stays_in_sync_while_the_serving_secret_is_away() -> None:
    """Servers go on with the pair that they have, and every object still shows whom to trust."""
    world = provided()
    before = shown(world)
    world.remove(CALLED.serving)
    told = [*gauges(world.gather(), world.wall)["trust_in_sync"].values()]
    assert told == [1.0] * len(TARGETS)
    run(world)
    assert shown(world) == before
    world.set_bundle(TARGETS[0][1], FIRST.certificate + SECOND.certificate)
    assert 0.0 in [*gauges(world.gather(), world.wall)["trust_in_sync"].values()]
