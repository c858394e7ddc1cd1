"""Certificates and keys are read in every form in which people keep them."""

import base64
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from dynamo_webhooks.certs.authority import KeyPair, issue_leaf, make_authority
from dynamo_webhooks.certs.certificate import kind_of, read_certificate, read_certificates, read_key
from dynamo_webhooks.certs.context import Change, ReloadingContext
from dynamo_webhooks.certs.delivery import PairContent, Source, accept
from dynamo_webhooks.certs.files import CERTIFICATE, KEY, PairError, store
from tests.certs.states import read
from tests.certs.world import verifies
from tests.rows import run_each

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
ECDSA = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def self_signed(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    """An authority as others make them: no key ids, a life of its own."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Dynamo-Webhook-CA")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    builder = builder.not_valid_before(NOW - timedelta(hours=1)).not_valid_after(NOW + timedelta(days=3650))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


@run_each("form", [PrivateFormat.TraditionalOpenSSL, PrivateFormat.PKCS8])
@run_each("key", [ECDSA, RSA], ids=["ecdsa", "rsa"])
def test_an_authority_in_any_form_signs(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, form: PrivateFormat) -> None:
    """PKCS#1, SEC1 and PKCS#8 are read and can sign; the leaf is of our own kind, and names its issuer's key."""
    pem = key.private_bytes(Encoding.PEM, form, NoEncryption())
    expected = {(False, True): b"BEGIN EC P", (True, True): b"BEGIN RSA P"}.get((key is RSA, form is PrivateFormat.TraditionalOpenSSL))
    assert (expected or b"BEGIN PRIVATE") in pem
    authority = read(self_signed(key))
    parsed = read_key(pem)
    assert parsed is not None
    assert parsed.belongs_to(authority)
    leaf = read(issue_leaf(KeyPair(authority.pem, pem), ["a.b.svc"], NOW).certificate)
    assert authority.issued(leaf)
    assert leaf.key_kind == "ecdsa-p256"
    identifier = leaf.parsed.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    assert identifier == x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest


def test_a_leaf_never_outlives_its_authority() -> None:
    """Otherwise clients would refuse it without an apparent reason."""
    authority = make_authority(NOW, life=timedelta(days=40))
    assert read(issue_leaf(authority, ["a"], NOW).certificate).not_after == NOW + timedelta(days=40)
    assert read(issue_leaf(authority, ["a"], NOW, life=timedelta(days=9)).certificate).not_after == NOW + timedelta(days=9)


def test_rsa_for_those_who_must() -> None:
    """Both certificates are RSA 2048; the leaf's key may encipher keys, and cryptography's verifier accepts the chain."""
    authority = make_authority(NOW, key_kind="rsa-2048")
    leaf = read(issue_leaf(authority, ["a.b.svc"], NOW, key_kind="rsa-2048").certificate)
    assert (read(authority.certificate).key_kind, leaf.key_kind) == ("rsa-2048", "rsa-2048")
    assert leaf.parsed.extensions.get_extension_for_class(x509.KeyUsage).value.key_encipherment
    assert verifies(leaf.der, authority.certificate, "a.b.svc")
    with pytest.raises(ValueError, match="must be ecdsa-p256 or rsa-2048, and is dsa"):
        make_authority(NOW, key_kind="dsa")


def test_every_block_of_a_bundle_is_read() -> None:
    """Order kept, repetitions and what can't be read left out, comments and other blocks ignored."""
    one, two, three = (make_authority(NOW, generation=number) for number in (1, 2, 3))
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    text = b"# one\n" + one.certificate + b"\n\n" + one.key + two.certificate + broken + one.certificate + three.certificate.rstrip()
    assert [cert.pem for cert in read_certificates(text)] == [one.certificate, two.certificate, three.certificate]
    assert read_certificate(broken) is None
    assert read_certificates(b"") == ()


def test_a_key_never_shows() -> None:
    """Neither the value nor anything that holds it prints a secret."""
    authority = make_authority(NOW)
    key = read_key(authority.key)
    assert key is not None
    assert authority.key.splitlines()[1].decode() not in repr(key)
    assert "PRIVATE" not in f"{key} {[key]}"


def test_kinds_of_keys() -> None:
    """As the configuration says them, and something for all others."""
    kinds = [kind_of(key) for key in (ECDSA, RSA, ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate())]
    assert kinds == ["ecdsa-p256", "rsa-2048", "ecdsa-secp384r1", "other"]


CURVE, OTHER_CURVE = bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2a8648ce3d030106")  # prime256v1, and an unsupported one
VERSION_3, VERSION_4 = bytes.fromhex("a003020102"), bytes.fromhex("a003020103")
KEY_ID, NAMES = bytes.fromhex("0603551d0e"), bytes.fromhex("0603551d11")  # the types of two extensions
ODD = {
    "a curve": (CURVE, OTHER_CURVE),
    "a version": (VERSION_3, VERSION_4),
    "an extension twice": (KEY_ID, NAMES),
}


@pytest.mark.parametrize(("before", "after"), ODD.values(), ids=ODD.keys())
def test_a_certificate_that_the_library_does_not_know_is_refused_like_any_other(before: bytes, after: bytes, tmp_path: Path) -> None:
    """It used to end the server at its start, and the watch of a running one: these errors are no ValueErrors."""
    authority = make_authority(NOW)
    good = issue_leaf(authority, ["a.b.svc"], NOW)
    der = ssl.PEM_cert_to_DER_cert(good.certificate.decode())
    assert before in der
    odd = ssl.DER_cert_to_PEM_cert(der.replace(before, after)).encode()
    for bundle in (authority.certificate, odd):
        with pytest.raises(PairError, match=r"^tls\.crt must"):
            accept(PairContent(odd, good.key, bundle), Source.API, "a.b.svc", NOW)
    for cert in read_certificates(odd):
        assert (cert.names, cert.is_authority, cert.issued(cert)) == (frozenset(), False, False)
    context = ReloadingContext(tmp_path, clock=lambda: NOW)
    store(tmp_path / KEY, good.key, 0o600)
    store(tmp_path / CERTIFICATE, odd, 0o644)
    assert context.refresh() is Change.REFUSED
    store(tmp_path / CERTIFICATE, good.certificate, 0o644)
    assert context.refresh() is Change.LOADED


def test_a_key_on_an_unsupported_curve_is_refused(tmp_path: Path) -> None:
    good = issue_leaf(make_authority(NOW), ["a.b.svc"], NOW)
    body = base64.b64decode(b"".join(good.key.splitlines()[1:-1])).replace(CURVE, OTHER_CURVE)
    store(tmp_path / KEY, b"-----BEGIN PRIVATE KEY-----\n" + base64.encodebytes(body) + b"-----END PRIVATE KEY-----\n", 0o600)
    store(tmp_path / CERTIFICATE, good.certificate, 0o644)
    context = ReloadingContext(tmp_path, clock=lambda: NOW)
    assert context.refresh() is Change.REFUSED
    assert "tls.key must hold a PEM private key" in context.reason
