"""What all tests of `migrate` have in common."""

import pytest

from dynamo_webhooks.kube.clocks import Backoff


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits longer than it takes to let others run."""
    count = Backoff.next
    monkeypatch.setattr(Backoff, "next", lambda backoff: min(count(backoff), 0.0))
