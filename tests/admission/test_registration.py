"""The table of webhooks against the rules themselves."""

from dynamo_webhooks.admission.registration import WEBHOOKS, Purpose, read_as
from dynamo_webhooks.api.line import Line
from dynamo_webhooks.policies.catalogue import list_rules


def test_kinds_are_read_in_the_version_of_their_rules() -> None:
    """Or an object would be converted twice; the rules about what v1alpha1 alone can say read what was written there."""
    for line in Line:
        found = {
            (Purpose.MUTATE if rule.is_default else Purpose.VALIDATE, name)
            for rule in list_rules(line)
            for name in rule.kinds
            if ".v1alpha1." not in rule.module
        }
        assert found == {(purpose, f"{kind}/{read_as(kind, purpose)}") for kind, purpose in WEBHOOKS}
