"""The settings of a process that runs until it is stopped."""

import logging
from collections.abc import Mapping
from typing import Final

from ...api.operator.configuration import OperatorConfiguration
from ..installation.configuration import load_configuration
from .listening import set_up_logging

_LOG: Final = logging.getLogger("configuration")


def load_settings(file: str, environment: Mapping[str, str], *, lenient: bool = False) -> OperatorConfiguration:
    """The configuration of a process from a file and the environment.

    With `lenient`, unknown keys are logged, each once, and passed over. Raises: UsageError that lists all errors.
    """
    effective = load_configuration(file, environment, lenient=lenient)
    with set_up_logging(effective.configuration):
        for line in effective.unknown:
            _LOG.warning("%s; passed over", line)
    return effective.configuration
