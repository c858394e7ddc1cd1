"""API servers in memory that hold what a test says, for commands with `--cluster`."""

import asyncio
from typing import Final

import yaml

from dynamo_webhooks.kube.resources import resource_of_kind
from tests.kube.memory import MemoryCluster

SERVED: Final = {"nvidia.com": frozenset({"v1alpha1", "v1beta1"}), "grove.io": frozenset({"v1alpha1"})}


def cluster(*texts: str, served: dict[str, frozenset[str]] = SERVED) -> MemoryCluster:
    """A cluster that holds objects."""
    made = MemoryCluster(served=served)

    async def fill() -> None:
        for text in texts:
            obj = yaml.safe_load(text)
            await made.create(resource_of_kind(obj["kind"], obj["apiVersion"].partition("/")[2]), obj, obj["metadata"]["namespace"])

    asyncio.run(fill())
    return made
