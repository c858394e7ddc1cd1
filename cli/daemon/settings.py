"""Reads a configuration in a process of its own: its models cost 11 MB, which a process that runs for months would keep for nothing."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any, TypeVar

from dynamo_webhooks.api.operator.settings import ProvisionerSettings, ReconcilerSettings, ServerSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

Settings = TypeVar("Settings", ServerSettings, ProvisionerSettings, ReconcilerSettings)


def load_settings(wanted: type[Settings], file: str, environment: Mapping[str, str]) -> Settings:
    """The settings of one process from a file and the environment. To be called early, while the process has one thread.

    Raises: UsageError that names everything that is wrong.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(_read(wanted, file, environment), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    found = pickle.loads(data) if data else RuntimeError("the configuration could not be read")  # noqa: S301 - our own process wrote it
    if isinstance(found, wanted):
        return found
    raise found


def _read(wanted: type[Any], file: str, environment: Mapping[str, str]) -> Any:
    try:
        from dynamo_webhooks.api.operator import projection
        from dynamo_webhooks.cli.configuration import load_configuration

        project = {
            ServerSettings: projection.server,
            ProvisionerSettings: projection.provisioner,
            ReconcilerSettings: projection.reconciler,
        }[wanted]
        return project(load_configuration(file, environment).configuration)
    except Exception as error:  # noqa: BLE001 - raised again by the parent, which is the one that reports
        return error
