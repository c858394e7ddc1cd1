"""Fields of other kinds and versions all at once: an API server drops them, but a client that calls the webhook itself may send them."""

import logging
from typing import Any

import orjson
import pytest

from dynamo_webhooks.admission.pipeline import Settings
from dynamo_webhooks.api.kinds import BETA, GAMMA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.api.schema import load_schema, resolve
from dynamo_webhooks.policies.facts import Facts
from tests.hostile.judging import judged
from tests.hostile.mutants import Mutant, field_names
from tests.hostile.reviews import ADMITTED, admission, examples
from tests.hostile.settings import REVIEWS


def _filled(obj: dict[str, Any], kind: str, version: str, value: Any) -> dict[str, Any]:
    """The object with a value in every field of its spec and of its components that only other kinds have there."""
    schema = load_schema(kind, BETA if version == GAMMA else version, Line.V1_6)  # v1beta2 has none here
    spec = resolve(schema["properties"]["spec"])["properties"]
    filled = {**dict.fromkeys(set(field_names(1)) - set(spec), value), **(obj.get("spec") or {})}
    for name, members in (("services", "additionalProperties"), ("components", "items")):
        if name in spec and (within := filled.get(name)):
            own = resolve(resolve(spec[name])[members])["properties"]
            more = dict.fromkeys({*field_names(1), *field_names(3)} - set(own), value)
            parts = within.items() if isinstance(within, dict) else enumerate(within)
            made = {step: {**more, **part} if part else part for step, part in parts}
            filled[name] = made if isinstance(within, dict) else list(made.values())
    return {**obj, "spec": filled}


@pytest.mark.parametrize("value", [5, "x", [5], {"x": 5}], ids=str)
def test_fields_of_other_kinds_may_hold_anything(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    complaints: dict[str, str] = {}
    for route in ADMITTED:
        for obj in examples()[route.kind, route.version][:: max(1, 20_000 // REVIEWS)]:
            case = admission(route, _filled(obj, route.kind, route.version, value))
            if wrong := judged(route, Mutant(orjson.dumps(case.review), whole=True), Settings(Facts(operatorLine=Line.V1_2))):
                complaints.setdefault(f"{route.path}: {wrong[:60]}", f"{wrong}\n{obj}")
    assert not complaints, "\n".join(list(complaints.values())[:5])
    assert not caplog.records
