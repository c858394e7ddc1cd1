"""Settings of profiling Jobs, from the operator's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.reconciler.render.settings import Infrastructure
from dynamo_webhooks.reconciler.request.job import JobSettings

if TYPE_CHECKING:
    from dynamo_webhooks.api.operator.settings import ReconcilerSettings


def settings_of(found: ReconcilerSettings) -> JobSettings:
    """What the configuration says; the copier's image may be empty."""
    infrastructure = Infrastructure(found.nats, found.etcd, found.model_express, found.prometheus)
    return JobSettings(found.requests.copier_image, found.requests.deadline, infrastructure)
