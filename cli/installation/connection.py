"""The connection of a command to an API server."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from ..console.exits import UsageError

if TYPE_CHECKING:
    from ...kube.client import Client


@contextlib.asynccontextmanager
async def connect_cluster(
    component: str, kubeconfig: str, context: str = "", server: str = "", *, patience: float = 30.0
) -> AsyncIterator[Client]:
    """A client, closed at the end; `component` names the command to the server, `patience` is seconds a request. Raises: UsageError."""
    from ...kube.client import connect
    from ...kube.config import ConfigError

    try:
        client = await connect(component, kubeconfig, context, server=server, patience=patience)
        try:
            yield client
        finally:
            await client.close()
    except ConfigError as error:
        raise UsageError(f"--kubeconfig: {error}") from None
