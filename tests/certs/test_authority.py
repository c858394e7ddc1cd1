"""What our certificates say: the profile that clients of every kind accept."""

from datetime import UTC, datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from dynamo_webhooks.certs.authority import AUTHORITY_LIFE, BACKDATE, LEAF_LIFE, issue_leaf, make_authority

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
LONG = "a" * 63 + "." + "b" * 63 + ".svc"


def _uses(usage: x509.KeyUsage) -> list[str]:
    names = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
    )
    return [name for name in names if getattr(usage, name)]


def test_authority_profile() -> None:
    """An authority signs leaves and nothing else, is valid at once, and for ten years."""
    certificate = x509.load_pem_x509_certificate(make_authority(NOW, generation=7).certificate)
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, 0)
    assert (usage.critical, _uses(usage.value)) == (True, ["key_cert_sign", "crl_sign"])
    assert certificate.subject == certificate.issuer
    assert certificate.subject.rfc4514_string() == "CN=dynamo-webhook-ca-7"
    assert (certificate.not_valid_before_utc, certificate.not_valid_after_utc) == (NOW - BACKDATE, NOW + AUTHORITY_LIFE)
    assert certificate.serial_number > 0
    assert isinstance(certificate.public_key(), ec.EllipticCurvePublicKey)


def test_leaf_profile() -> None:
    """A leaf names its hosts, serves and signs nothing, and points at its issuer by key id."""
    authority = make_authority(NOW)
    pair = issue_leaf(authority, ["localhost", "127.0.0.1", "::1", "localhost", LONG], NOW)
    leaf, issuer = x509.load_pem_x509_certificate(pair.certificate), x509.load_pem_x509_certificate(authority.certificate)
    leaf.verify_directly_issued_by(issuer)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", LONG]
    assert names.get_values_for_type(x509.IPAddress) == [ip_address("127.0.0.1"), ip_address("::1")]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert list(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert _uses(leaf.extensions.get_extension_for_class(x509.KeyUsage).value) == ["digital_signature"]
    key_id = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    assert leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier == key_id
    assert leaf.not_valid_after_utc == NOW + LEAF_LIFE
    assert leaf.public_key() == load_pem_private_key(pair.key, None).public_key()
