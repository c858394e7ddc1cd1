"""Our own notes about a request, kept in an annotation: what was profiled, which graph was made, which retry was heard."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

from ...conversion.lens.protocol import Fields
from ..common.marks import RETRY
from .names import HARDWARE, PROGRESS


class Progress(NamedTuple):
    """Empty texts are what nobody has noted yet."""

    spec: str = ""  # digest of the spec that counts, without autoApply
    retry: str = ""  # value of the annotation that was heard last
    graph: str = ""  # uid of the graph that was made
    jobs: int = 0  # how many profiling Jobs were made for the spec
    warned: str = ""  # digest of a later spec that was warned of

    def text(self) -> str:
        """As the annotation has it."""
        return json.dumps({name: value for name, value in self._asdict().items() if value}, separators=(",", ":"), sort_keys=True)


def read_progress(request: Fields) -> Progress:
    """The notes on a request; text that isn't ours counts as none."""
    found = _parsed(request, PROGRESS)
    known = {name: found[name] for name in Progress._fields if type(found.get(name)) is type(getattr(Progress(), name))}
    return Progress(**known)


def retry_of(request: Fields) -> str:
    """The value of the annotation that asks for another attempt."""
    return str((request["metadata"].get("annotations") or {}).get(RETRY) or "")


def hardware_of(request: Fields) -> Fields:
    """What was found in the cluster earlier."""
    return _parsed(request, HARDWARE)


def digest_of(spec: Any) -> str:
    """A digest of everything in a spec that profiling depends on. Linear in its size."""
    return digest({name: value for name, value in (spec or {}).items() if name != "autoApply"})


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits; one text for all that is nested too deeply to be written, as stored statuses may be."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return "too-deep"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _parsed(request: Fields, name: str) -> Fields:
    text = (request["metadata"].get("annotations") or {}).get(name)
    try:
        found = json.loads(text) if isinstance(text, str) and len(text) <= 4096 else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
