"""Making certificates: a certificate authority and a leaf signed by it. Where they are kept, files.py and the Secret store decide."""

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from .certificate import read_certificate, read_extension

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

BACKDATE: Final = timedelta(hours=1)  # clocks differ, and a certificate must be valid at once everywhere
AUTHORITY_LIFE: Final = timedelta(days=3650)
LEAF_LIFE: Final = timedelta(days=365)
SELF_SIGNED: Final = "self-signed by dynamo-webhooks serve"  # the organisation by which files.py knows its own work
AUTHORITY_NAME: Final = "dynamo-webhook-ca-"  # followed by the generation: two authorities never share a name
ECDSA: Final = "ecdsa-p256"
RSA: Final = "rsa-2048"  # for those who must


class KeyPair(NamedTuple):
    """A certificate and its private key, both PEM; the key is PKCS#8 and not encrypted."""

    certificate: bytes
    key: bytes


def make_authority(
    now: datetime,
    *,
    generation: int = 1,
    life: timedelta = AUTHORITY_LIFE,
    backdate: timedelta = BACKDATE,
    key_kind: str = ECDSA,
    organisation: str = "",
) -> KeyPair:
    """Makes a self-signed authority that may sign leaves and nothing else. `now` must be timezone-aware."""
    key = _new_key(key_kind)
    name = _name(f"{AUTHORITY_NAME}{generation}", organisation)
    extensions = (x509.BasicConstraints(ca=True, path_length=0), _usage(signs_certificates=True))
    return _signed(name, name, key, key, now - backdate, now + life, extensions)


def issue_leaf(
    authority: KeyPair,
    names: Iterable[str],
    now: datetime,
    *,
    life: timedelta = LEAF_LIFE,
    backdate: timedelta = BACKDATE,
    key_kind: str = ECDSA,
    organisation: str = "",
) -> KeyPair:
    """Issues a server certificate for DNS names and IP addresses; it ends with its authority at the latest.

    The first name decides nothing, clients read all of them. The authority's key may be PKCS#1, SEC1 or PKCS#8.

    Raises: ValueError when the authority can't be read.
    """
    issuer = read_certificate(authority.certificate)
    if issuer is None:
        raise ValueError("the authority must be a PEM certificate")
    signer = serialization.load_pem_private_key(authority.key, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise TypeError("the authority's key must be an ECDSA or RSA key")
    key = _new_key(key_kind)
    extensions = (
        x509.BasicConstraints(ca=False, path_length=None),
        _usage(signs_certificates=False, enciphers_keys=key_kind != ECDSA),
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        x509.SubjectAlternativeName([_alternative(name) for name in dict.fromkeys(names)]),
        _issuer_identifier(issuer.parsed, signer),
    )
    # a fixed short subject, since its length is limited; long service names are alternative names
    name, end = _name("dynamo-webhook", organisation), min(now + life, issuer.not_after)
    return _signed(name, issuer.parsed.subject, key, signer, now - backdate, end, extensions)


def encode_key(key: PrivateKey) -> bytes:
    """PKCS#8 in PEM, the one form we write."""
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _new_key(kind: str) -> PrivateKey:
    if kind == ECDSA:
        return ec.generate_private_key(ec.SECP256R1())
    if kind == RSA:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    raise ValueError(f"the kind of key must be {ECDSA} or {RSA}, and is {kind}")


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: PrivateKey,
    signer: PrivateKey,
    start: datetime,
    end: datetime,
    extensions: Iterable[x509.ExtensionType],
) -> KeyPair:
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(start).not_valid_after(end)
    for each in (*extensions, x509.SubjectKeyIdentifier.from_public_key(key.public_key())):
        builder = builder.add_extension(each, critical=isinstance(each, (x509.BasicConstraints, x509.KeyUsage)))
    return KeyPair(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), encode_key(key))


def _issuer_identifier(issuer: x509.Certificate, signer: PrivateKey) -> x509.AuthorityKeyIdentifier:
    """The issuer's own key id; an adopted authority may have none, then what its id would be."""
    if identifier := read_extension(issuer, x509.SubjectKeyIdentifier):
        return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())


def _name(common: str, organisation: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organisation:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(parts)


def _usage(*, signs_certificates: bool, enciphers_keys: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=enciphers_keys,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
