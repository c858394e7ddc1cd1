"""How everything stands, as an annotation that `doctor` and people read: ready or not and why, and what stands wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dynamo_webhooks.certs import names
from dynamo_webhooks.certs.report import reports, unready

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from dynamo_webhooks.certs.state import CertificateState


def conditions(state: CertificateState, now: datetime) -> str:
    """A JSON list: first `Ready`, then one condition for each report; no times, so that the same facts give the same text."""
    cause = unready(state, now)
    reason, text = cause or ("Ready", "every request of the API server is trusted and served")
    found = [{"type": "Ready", "status": "False" if cause else "True", "reason": reason, "message": text}]
    found += [{"type": each.reason, "status": "True", "reason": each.reason, "message": each.text} for each in reports(state, now)]
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def read_conditions(obj: Mapping[str, Any]) -> list[dict[str, str]]:
    """The conditions that an object carries; empty when there are none or they can't be read."""
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get(names.CONDITIONS, "")
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
