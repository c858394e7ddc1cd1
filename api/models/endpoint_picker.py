"""Configuration of the endpoint picker, the same in both versions."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from .facets import Anything, Part


class Plugin(Part):
    """A plugin that the picker loads."""

    name: str | None = Field(None, description="Name by which profiles refer to the plugin; its type when left out.")
    type: str = Field(description="Which implementation to load.")
    parameters: Anything = Field(None, description="Settings of the plugin, in its own form; of any type.")


class ProfilePlugin(Part):
    """A plugin's place in a scheduling profile."""

    plugin_ref: str = Field(description="Name of a plugin in the list of plugins.")
    weight: int | None = Field(None, description="How much a scoring plugin counts.")


class SchedulingProfile(Part):
    """A named way of choosing an endpoint."""

    name: str = Field(description="Name of the profile.")
    plugins: list[ProfilePlugin] = Field(description="Plugins that take part in it.")


class SaturationDetector(Part):
    """When an endpoint counts as saturated."""

    queue_depth_threshold: int | None = Field(None, description="Waiting requests above which an endpoint is saturated.")
    kv_cache_util_threshold: float | None = Field(None, description="Share of the KV cache, 0 to 1, above which it is saturated.")
    metrics_staleness_threshold: str | None = Field(None, description="Age at which its metrics are no longer believed, such as 200ms.")


class PickerConfig(Part):
    """The picker's own configuration; members that are not listed here are kept as they are."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"x-kubernetes-preserve-unknown-fields": True})

    api_version: str | None = Field(None, description="API version of the configuration.")
    kind: str | None = Field(None, description="Kind of the configuration.")
    plugins: list[Plugin] = Field(description="Plugins to load.")
    scheduling_profiles: list[SchedulingProfile] = Field(description="Profiles that use them.")
    feature_gates: list[str] | None = Field(None, description="Features of the picker to switch on.")
    saturation_detector: SaturationDetector | None = Field(None, description="Limits above which an endpoint counts as saturated.")
