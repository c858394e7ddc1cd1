"""Reads a configuration in a process of its own: its models cost 11 MB, which a process that runs for months would keep for nothing."""

from __future__ import annotations

import logging
import os
import pickle
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dynamo_webhooks.api.operator.settings import ProvisionerSettings, ReconcilerSettings, ServerSettings
from dynamo_webhooks.cli.daemon.listening import logged

if TYPE_CHECKING:
    from collections.abc import Mapping

Settings = TypeVar("Settings", ServerSettings, ProvisionerSettings, ReconcilerSettings)
_LOG: Final = logging.getLogger("configuration")


def load_settings(wanted: type[Settings], file: str, environment: Mapping[str, str], *, lenient: bool = False) -> Settings:
    """The settings of one process from a file and the environment. To be called early, while the process has one thread.

    With `lenient`, unknown keys are logged, each once, and passed over. Raises: UsageError that names everything that is wrong.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pickle.dump(_read(wanted, file, environment, lenient=lenient), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    nothing = (RuntimeError("the configuration could not be read"), ())
    found, unknown = pickle.loads(data) if data else nothing  # noqa: S301 - our own process wrote it
    if not isinstance(found, wanted):
        raise found
    with logged(found):
        for line in unknown:
            _LOG.warning("%s; passed over", line)
    return found


def _read(wanted: type[Any], file: str, environment: Mapping[str, str], *, lenient: bool) -> tuple[Any, tuple[str, ...]]:
    """The settings, or the error to raise, and the keys that are passed over."""
    try:
        from dynamo_webhooks.api.operator import projection
        from dynamo_webhooks.cli.configuration import load_configuration

        project = {
            ServerSettings: projection.server,
            ProvisionerSettings: projection.provisioner,
            ReconcilerSettings: projection.reconciler,
        }[wanted]
        effective = load_configuration(file, environment, lenient=lenient)
        return project(effective.configuration), effective.unknown
    except Exception as error:  # noqa: BLE001 - raised again by the parent, which is the one that reports
        return error, ()
