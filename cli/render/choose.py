"""Settings of an offline render: facts first, then the configuration, then what is assumed; and a sentence that says what is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamo_webhooks.policies.facts import UNKNOWN
from dynamo_webhooks.reconciler.render.settings import Settings

if TYPE_CHECKING:
    from dynamo_webhooks.policies.facts import Facts

ABILITIES: Final = ("grove", "lws", "dra", "istio")  # of the cluster, which decide what is rendered


def choose(known: Facts, config: str | None) -> tuple[Settings, str]:
    """The settings, and what was assumed for them (empty when everything is known).

    Raises: UsageError for a configuration file that can't be used.
    """
    usual = _configured(config) if config is not None else Settings()
    told = {name: getattr(known, name) for name in ABILITIES if getattr(known, name) is not UNKNOWN}
    version = usual.operator_version if known.operatorVersion is UNKNOWN else str(known.operatorVersion)
    restricted = usual.restricted if known.operatorScope is UNKNOWN else known.operatorScope == "namespace"
    settings = usual._replace(**told, operator_version=version, restricted=restricted)
    assumed = [f"{name}={str(getattr(settings, name)).lower()}" for name in ABILITIES if name not in told]
    assumed += ["no operatorVersion"] * (not version)
    return settings, f"not known, so assumed: {', '.join(assumed)}; --set-fact or --facts say otherwise" if assumed else ""


def _configured(config: str) -> Settings:
    from dynamo_webhooks.api.operator.projection import reconciler
    from dynamo_webhooks.cli.configuration import load_configuration
    from dynamo_webhooks.reconciler.render.configured import Abilities, settings_from

    # the environment is that of whoever asks, and has no say in what another operator renders
    return settings_from(reconciler(load_configuration(config, {}).configuration), Abilities())
