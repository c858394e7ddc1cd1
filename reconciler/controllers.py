"""The controllers of all kinds: the only list."""

from collections.abc import Callable
from typing import Final

from .adapter.controller import AdapterController
from .checkpoint.controller import CheckpointController
from .component.controller import ComponentController
from .engine.controller import Controller
from .graph.controller import GraphController
from .model.controller import ModelController
from .request.controller import RequestController
from .secret.controller import PullSecretController

CONTROLLERS: Final[tuple[Callable[[], Controller], ...]] = (
    GraphController,
    ComponentController,
    AdapterController,
    ModelController,
    CheckpointController,
    RequestController,
    PullSecretController,
)
