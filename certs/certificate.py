"""Certificates and keys as values: reading PEM, who issued what, which key belongs. Making them is authority.py's matter."""

from __future__ import annotations

import hashlib
import re
import warnings
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key, load_pem_private_key
from cryptography.x509.oid import NameOID

# the library's errors for unsupported curves and versions, duplicate extensions and unexpected name types
UNREADABLE: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
E = TypeVar("E", bound=x509.ExtensionType)
_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Certificate:
    """One X.509 certificate; equal when the DER is equal."""

    der: bytes = field(repr=False)
    fingerprint: str  # SHA-256 of the DER, hexadecimal
    parsed: x509.Certificate = field(repr=False, compare=False)

    @property
    def not_before(self) -> datetime:
        """First moment of validity, UTC."""
        return self.parsed.not_valid_before_utc

    @property
    def not_after(self) -> datetime:
        """Last moment of validity, UTC."""
        return self.parsed.not_valid_after_utc

    @property
    def serial(self) -> str:
        """Hexadecimal."""
        return f"{self.parsed.serial_number:x}"

    @property
    def issuer_key(self) -> str:
        """The key identifier of the issuer, hexadecimal; empty when it isn't named."""
        extension = read_extension(self.parsed, x509.AuthorityKeyIdentifier)
        return (extension.key_identifier or b"").hex() if extension else ""

    @property
    def life(self) -> timedelta:
        """From the first moment of validity to the last."""
        return self.not_after - self.not_before

    @property
    def pem(self) -> bytes:
        """One block with one trailing newline, the same bytes for the same certificate."""
        return self.parsed.public_bytes(Encoding.PEM)

    @property
    def common_name(self) -> str:
        """The subject's common name, empty when there is none."""
        return next((str(part.value) for part in self.parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)), "")

    @property
    def names(self) -> frozenset[str]:
        """DNS names and IP addresses, as text."""
        names = read_extension(self.parsed, x509.SubjectAlternativeName)
        if names is None:
            return frozenset()
        return frozenset(
            {*names.get_values_for_type(x509.DNSName), *(str(address) for address in names.get_values_for_type(x509.IPAddress))}
        )

    @property
    def is_authority(self) -> bool:
        """Whether it may sign others, by its basic constraints."""
        constraints = read_extension(self.parsed, x509.BasicConstraints)
        return constraints is not None and constraints.ca

    @property
    def key_kind(self) -> str:
        """`ecdsa-p256`, `rsa-2048` and so on; `other` for what neither is."""
        return kind_of(load_der_public_key(_public(self.der)))

    def valid_at(self, moment: datetime) -> bool:
        """Whether a client whose clock shows `moment` accepts the dates."""
        return self.not_before <= moment < self.not_after

    def issued(self, other: Certificate) -> bool:
        """Whether the other's issuer name is this subject and its signature is by this key; dates don't matter."""
        return _issued(self.der, other.der)


@dataclass(frozen=True, slots=True)
class Key:
    """A private key in PEM as it was read. It never shows in a text."""

    pem: bytes = field(repr=False)
    public: bytes = field(repr=False)  # the public half, DER

    def belongs_to(self, certificate: Certificate) -> bool:
        """Whether the certificate is for this key."""
        return self.public == _public(certificate.der)


def read_certificates(pem: bytes) -> tuple[Certificate, ...]:
    """All certificates of a PEM text, as a bundle holds several, in order without repetition; unreadable blocks are passed over."""
    certificates = dict.fromkeys(filter(None, (_read(block) for block in _BLOCK.findall(pem))))
    return tuple(certificates)


def read_certificate(pem: bytes) -> Certificate | None:
    """The first certificate of a PEM text; None when there is none that can be read."""
    return next(iter(read_certificates(pem)), None)


def read_key(pem: bytes) -> Key | None:
    """A private key in PKCS#1, SEC1 or PKCS#8; None when it is none of these or encrypted."""
    try:
        return Key(pem, public_der(load_pem_private_key(pem, password=None).public_key()))
    except UNREADABLE:
        return None


def read_extension(certificate: x509.Certificate, wanted: type[E]) -> E | None:
    """An extension of a certificate; None when there is none that can be read."""
    try:
        return certificate.extensions.get_extension_for_class(wanted).value
    except (x509.ExtensionNotFound, *UNREADABLE):
        return None


def public_der(key: PublicKeyTypes) -> bytes:
    """A public key in DER, to be compared."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def kind_of(key: PublicKeyTypes | PrivateKeyTypes) -> str:
    """The kind of a key, in the words of the configuration."""
    if isinstance(key, ec.EllipticCurvePublicKey | ec.EllipticCurvePrivateKey):
        return "ecdsa-p256" if key.curve.name == "secp256r1" else f"ecdsa-{key.curve.name}"
    if isinstance(key, rsa.RSAPublicKey | rsa.RSAPrivateKey):
        return f"rsa-{key.key_size}"
    return "other"


def parse(der: bytes) -> x509.Certificate:
    """Parses DER, also of certificates with serial 0, which the Go operator's authorities have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x509.load_der_x509_certificate(der)


@lru_cache(maxsize=256)
def _read(block: bytes) -> Certificate | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = x509.load_pem_x509_certificate(block)
        parsed.public_key()
    except UNREADABLE:
        return None
    der = parsed.public_bytes(Encoding.DER)
    return Certificate(der, hashlib.sha256(der).hexdigest(), parsed)


@lru_cache(maxsize=256)
def _public(der: bytes) -> bytes:
    return public_der(parse(der).public_key())


@lru_cache(maxsize=1024)
def _issued(issuer: bytes, leaf: bytes) -> bool:
    try:
        parse(leaf).verify_directly_issued_by(parse(issuer))
    except (InvalidSignature, *UNREADABLE):
        return False
    return True
