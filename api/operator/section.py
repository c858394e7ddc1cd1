"""What all sections of the file share: unknown keys are errors, values keep their types, camel case outside."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """A mapping with known keys; nothing is coerced, so that `port: "8080"` is told and not guessed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel, serialize_by_alias=True)
