"""The table of webhooks against the rules themselves."""

from __future__ import annotations

import pytest

from dynamo_webhooks.admission.registration import READ, Purpose
from dynamo_webhooks.policies.catalogue import rules
from dynamo_webhooks.policies.review import PROFILES


@pytest.mark.parametrize("profile", PROFILES)
def test_kinds_are_read_in_the_version_of_their_rules(profile: str) -> None:
    """Each rule of a kind reads one version, or an object would have to be converted twice."""
    found = {(Purpose.MUTATE if rule.is_default else Purpose.VALIDATE, name) for rule in rules(profile) for name in rule.kinds}
    assert found == {(purpose, f"{kind}/{version}") for (kind, purpose), version in READ.items()}
