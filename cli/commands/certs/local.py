"""`certs issue --files`: an authority and a certificate in a directory, for who fills the serving Secret by hand (mode `provided`)."""

from datetime import datetime
from pathlib import Path
from typing import Final

from ....certs.authority import KeyPair, issue_leaf, make_authority
from ....certs.certificate import read_certificate, read_key
from ....certs.files import AUTHORITY, CERTIFICATE, KEY, read_file, store
from ....certs.installation import Installation
from ....certs.names import AUTHORITY_KEY

OPEN: Final = 0o644
CLOSED: Final = 0o600


class FilesError(Exception):
    """Files that can't be used; the text is one sentence that names one."""


def issue(directory: Path, about: Installation, now: datetime, *, dry_run: bool) -> str:
    """Write tls.crt and tls.key, signed by the directory's authority, which is created if missing; return the result as a sentence.

    Raises: FilesError for an authority that can't sign; OSError.
    """
    timings, profile = about.timings, about.profile
    authority, made = _authority(directory, about, now)
    leaf = issue_leaf(authority, profile.names, now, life=timings.leaf_life, backdate=timings.backdate, key_kind=profile.key_kind)
    what = f"an authority and a certificate for {profile.server_name}" if made else f"a certificate for {profile.server_name}"
    if dry_run:
        return f"would write {what} into {directory}"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if made:
        store(directory / AUTHORITY_KEY, authority.key, CLOSED)
        store(directory / AUTHORITY, authority.certificate, OPEN)
    store(directory / KEY, leaf.key, CLOSED)
    store(directory / CERTIFICATE, leaf.certificate, OPEN)
    return f"{what} is in {directory}; keep {AUTHORITY_KEY} away from the cluster, servers need the other three"


def _authority(directory: Path, about: Installation, now: datetime) -> tuple[KeyPair, bool]:
    """The authority of the directory and whether it is new; half of one is never completed by another."""
    files = directory / AUTHORITY, directory / AUTHORITY_KEY
    if not any(file.exists() for file in files):
        timings, kind = about.timings, about.profile.key_kind
        return make_authority(now, life=timings.authority_life, backdate=timings.backdate, key_kind=kind), True
    for file in files:
        if not file.exists():
            raise FilesError(f"{file} must be there beside the other half of the authority; put it there, or choose an empty directory")
    pair = KeyPair(read_file(files[0]), read_file(files[1]))
    certificate, key = read_certificate(pair.certificate), read_key(pair.key)
    if certificate is None or not certificate.is_authority:
        raise FilesError(f"{files[0]} must hold the certificate of an authority")
    if key is None or not key.belongs_to(certificate):
        raise FilesError(f"{files[1]} must hold the key of {files[0]}, PEM and not encrypted")
    if not certificate.valid_at(now):
        raise FilesError(f"{files[0]} must be valid now, and ends at {certificate.not_after:%Y-%m-%d}")
    return KeyPair(certificate.pem, pair.key), False
