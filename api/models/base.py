"""The base class of the models."""

from pydantic import BaseModel, ConfigDict


def to_api_name(name: str) -> str:
    """Writes an attribute's name as the API does: `kv_transfer_policy` becomes `kvTransferPolicy`."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


class Part(BaseModel):
    """An object of the API; its docstring describes it in the schema."""

    model_config = ConfigDict(alias_generator=to_api_name, extra="ignore", frozen=True)
