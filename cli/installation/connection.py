"""The connection of a command to an API server."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ..console.exits import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ...kube.client import Client


@contextlib.asynccontextmanager
async def connect_cluster(
    component: str, kubeconfig: str, context: str = "", server: str = "", *, patience: float = 30.0
) -> AsyncIterator[Client]:
    """A client that is closed at the end; `component` names the command to the API server, `server` is one of several API servers.

    `patience` is seconds for one request. Raises: UsageError when the kubeconfig can't be used or none is found.
    """
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
