"""The table of webhooks against the rules themselves."""

from __future__ import annotations

import pytest

from dynamo_webhooks.admission.beta_rules import _REMAINDERS, KINDS
from dynamo_webhooks.admission.registration import READ, Purpose
from dynamo_webhooks.api.kinds import BETA
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.conversion.kinds import KINDS as CONVERTED
from dynamo_webhooks.conversion.remainder import keys
from dynamo_webhooks.policies.catalogue import rules
from dynamo_webhooks.policies.review import PROFILES


@pytest.mark.parametrize("profile", PROFILES)
def test_kinds_are_read_in_the_version_of_their_rules(profile: str) -> None:
    """Each rule of a kind reads one version, or an object would be converted twice; on line 1.5 a few read a field of v1beta1 alone."""
    for line in Line:
        asked = rules(profile, line)
        found = {(Purpose.MUTATE if rule.is_default else Purpose.VALIDATE, name) for rule in asked for name in rule.kinds}
        beta = {(Purpose.VALIDATE, f"{kind}/{BETA}") for kind in KINDS} if line >= Line.V1_5 else set()
        assert found == {(purpose, f"{kind}/{version}") for (kind, purpose), version in READ.items()} | beta


def test_the_annotations_of_conversion_are_told_by_their_ends() -> None:
    assert [key for kind in KINDS for key in keys(CONVERTED[kind]) if not key.endswith(_REMAINDERS)] == []
