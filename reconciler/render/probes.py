"""The default probes of each component type. A user's probe replaces a whole default probe."""

from typing import Final

from ...conversion.lens.protocol import Fields
from .names import EPP, FRONTEND, PLANNER, WORKERS

KINDS = ("livenessProbe", "readinessProbe", "startupProbe")
_PICKER_HEALTH = 9003
_PICKER_SERVICE = "inference-extension"


def default_probes(kind: str, *, patient: bool = False) -> Fields:
    """The probes of a component type; none for the default type. A `patient` worker is asked three times before it is restarted."""
    if kind == FRONTEND:
        return {
            "livenessProbe": _http("/live", "http", initialDelaySeconds=15, periodSeconds=10, timeoutSeconds=1, failureThreshold=3),
            "readinessProbe": _http("/health", "http", initialDelaySeconds=10, periodSeconds=10, timeoutSeconds=3, failureThreshold=3),
        }
    if kind in WORKERS or kind == PLANNER:
        failures = 3 if patient and kind in WORKERS else 1
        return {
            "livenessProbe": _http("/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=failures),
            "readinessProbe": _http("/health", "system", periodSeconds=10, timeoutSeconds=4, failureThreshold=3),
            # two hours: large models take long to load
            "startupProbe": _http("/live", "system", periodSeconds=10, timeoutSeconds=5, failureThreshold=720),
        }
    if kind == EPP:
        handler = {"grpc": {"port": _PICKER_HEALTH, "service": _PICKER_SERVICE}}
        steady = {**handler, "initialDelaySeconds": 5, "periodSeconds": 10}
        return {
            "livenessProbe": steady,
            "readinessProbe": dict(steady),
            "startupProbe": {**handler, "periodSeconds": 10, "failureThreshold": 180},
        }
    return {}


def _http(path: str, port: str, **figures: int) -> Fields:
    # ports by name, so that users can change their numbers
    return {"httpGet": {"path": path, "port": port}, **figures}


# of the sidecar `runtime`: it has no weights to load, and the engine starts after it
RUNTIME_PROBES: Final[Fields] = {
    "livenessProbe": _http("/live", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=3),
    "readinessProbe": _http("/health", "system", periodSeconds=5, timeoutSeconds=4, failureThreshold=3),
    "startupProbe": _http("/live", "system", periodSeconds=2, timeoutSeconds=1, failureThreshold=30),
}


def drop_probes(main: Fields) -> None:
    """Remove the probes of a container, in place: only the leader answers them."""
    for kind in KINDS:
        main.pop(kind, None)
