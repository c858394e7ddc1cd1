"""The identity of a checkpoint, and the names that follow from it."""

import json
import re
from typing import Any, Final

from ....conversion.lens.protocol import Fields
from ..errors import RenderError
from ..merge import string_map
from ..names import ARTIFACT_VERSION, digest

FIRST_VERSION: Final = "1"
MAX_NAME_CHARACTERS: Final = 63  # of a Job, which is also a label of its pods
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
# in the order of the digest's text
_IDENTITY: Final = (
    ("model", ""),
    ("backendFramework", ""),
    ("dynamoVersion", None),
    ("tensorParallelSize", 1),
    ("pipelineParallelSize", 1),
    ("dtype", None),
    ("maxModelLen", None),
    ("extraParameters", None),
)


def hash_identity(identity: Fields) -> str:
    """The identity of a snapshot: sixteen digits over everything that a warm worker depends on."""
    facts: dict[str, Any] = {}
    for name, fallback in _IDENTITY:
        value = identity.get(name) or fallback
        if value is not None:
            facts[name] = dict(sorted(value.items())) if isinstance(value, dict) else value
    text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":  # as Go writes these; the digest must be equal
        text = text.replace(character, f"\\u{ord(character):04x}")
    return digest(text, 16)


def read_identity_hash(checkpoint: Fields) -> str:
    """The hash of a stored checkpoint's identity, whatever its label says."""
    identity = (checkpoint.get("spec") or {}).get("identity")
    return hash_identity(identity if isinstance(identity, dict) else {})


def read_artifact_version(checkpoint: Fields) -> str:
    """The version of the artifact that is asked for."""
    return string_map((checkpoint.get("metadata") or {}).get("annotations")).get(ARTIFACT_VERSION, "").strip() or FIRST_VERSION


def job_name(checkpoint: Fields) -> str:
    """The name of the Job that makes this version of the checkpoint."""
    return format_job_name(read_identity_hash(checkpoint), read_artifact_version(checkpoint))


def format_job_name(identity: str, version: str) -> str:
    """The name of the Job that makes this version of a snapshot."""
    return f"checkpoint-job-{identity}-{version}"


def is_job_name(name: str) -> bool:
    """Whether a Job can have this name."""
    return len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name) is not None


def check_version(checkpoint: Fields) -> None:
    """Raises: RenderError if the version makes no name of a Job."""
    name, version = job_name(checkpoint), read_artifact_version(checkpoint)
    if is_job_name(name):
        return
    most = MAX_NAME_CHARACTERS - len(name) + len(version)
    wanted = f"must be at most {most} lower-case letters, digits, dashes and dots that begin and end with a letter or digit"
    raise RenderError(("metadata", "annotations", ARTIFACT_VERSION), f"{wanted}, got {version[:80]!r}")
