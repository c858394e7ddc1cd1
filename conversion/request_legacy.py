"""The nine annotations of requests for operators 1.0 and 1.1: read, and written for those operators.

A valid main annotation takes precedence over all of its group, even if it is empty.
"""

from typing import Any, Final

from ..api.decode import decoder
from ..api.deep import load
from .kind import LEFT, PREFIX, Legacy
from .lens.protocol import Fields
from .lens.structs import object_of
from .remainder import encode
from .request_profiling import project

_START: Final = f"{PREFIX}dgdr-"
DISCOVERY: Final = f"{_START}enable-gpu-discovery"
CONFIG: Final = f"{_START}profiling-config"
CONFIG_MAP: Final = f"{_START}config-map-ref"
OUTPUT: Final = f"{_START}output-pvc"
OVERRIDES: Final = f"{_START}deployment-overrides"
BACKEND: Final = f"{_START}status-backend"
RESULTS: Final = f"{_START}profiling-results"
DEPLOYMENT: Final = f"{_START}deployment-status"
JOB_NAME: Final = f"{_START}profiling-job-name"
KEYS: Final = (DISCOVERY, CONFIG, CONFIG_MAP, OUTPUT, OVERRIDES, BACKEND, RESULTS, DEPLOYMENT, JOB_NAME)
_STATES: Final = ("", "Pending", "Initializing", "Profiling", "Deploying", "Ready", "DeploymentDeleted", "Failed")
_KIND: Final = "DynamoGraphDeploymentRequest"


def read(annotations: Fields, rightward: bool, spec: Fields | None, status: Fields | None) -> tuple[Fields | None, Fields | None]:
    """The remainders of spec and status to use; `spec` and `status` are the valid main ones, or None."""
    texts = {key: text for key in KEYS if type(text := annotations.get(key)) is str and text}
    if not texts:
        return spec, status
    if rightward:
        # an older operator may have written the job's name after the main annotation: the name wins
        return spec, {**(status or {}), "profilingJobName": texts[JOB_NAME]} if JOB_NAME in texts else status
    return _read_spec(texts) if spec is None else spec, _read_status(texts) if status is None else status


def _read_spec(texts: dict[str, str]) -> Fields | None:
    spec: Fields = {}
    profiling: Fields = {
        "config": _remainder(_object(texts.get(CONFIG))),
        "configMapRef": _object(texts.get(CONFIG_MAP)),
        "outputPVC": texts.get(OUTPUT),
    }
    profiling = {name: value for name, value in profiling.items() if value is not None and _typed({"profilingConfig": {name: value}})}
    overrides = _object(texts.get(OVERRIDES))
    if profiling:
        spec["profilingConfig"] = profiling
    if texts.get(DISCOVERY) == "true":
        spec["enableGpuDiscovery"] = True
    if overrides is not None and _typed({"deploymentOverrides": overrides}):
        spec["deploymentOverrides"] = overrides
    return spec or None


def _read_status(texts: dict[str, str]) -> Fields | None:
    status: Fields = {name: texts[key] for name, key in (("backend", BACKEND), ("profilingResults", RESULTS)) if key in texts}
    decoded = _object(texts.get(DEPLOYMENT)) or {}
    state, deployment = decoded.pop("requestState", None) or "", decoded
    if not deployment.get("state"):
        deployment.pop("state", None)  # always written, so an empty one has no meaning
    if deployment.get("name") and state in _STATES and decoder(_KIND, LEFT)({"status": {"deployment": deployment}}) == ():
        status["deployment"] = deployment
        if state:
            status["state"] = state
    return status or None


def _remainder(blob: Fields | None) -> Fields | None:
    """The members of an older blob that the right side's sections lack; an empty blob stays empty."""
    rest = project(blob, {}, {}) if blob else blob
    return rest if rest or not blob else None


def _typed(spec: Fields) -> bool:
    return decoder(_KIND, LEFT)({"spec": spec}) == ()


def _object(text: str | None) -> Fields | None:
    """Decode a JSON object; other text is empty."""
    if text is None:
        return None
    import orjson

    try:
        value = load(text)
    except orjson.JSONDecodeError:
        return None
    return value if type(value) is dict else None


def write(source: Fields, rightward: bool) -> dict[str, str]:
    """The annotations for older operators, from the object to convert."""
    spec, status = object_of(source.get("spec")), object_of(source.get("status"))
    if not rightward:
        name = status.get("profilingJobName")
        return {JOB_NAME: name} if name and type(name) is str else {}
    out = _write_spec(spec)
    for key, member in ((BACKEND, "backend"), (RESULTS, "profilingResults")):
        if (text := status.get(member)) and type(text) is str:
            out[key] = text
    deployment = status.get("deployment")
    if type(deployment) is dict:
        out[DEPLOYMENT] = encode(_with_state(deployment, status.get("state")))
    return out


def _write_spec(spec: Fields) -> dict[str, str]:
    out: dict[str, str] = {}
    profiling, overrides = object_of(spec.get("profilingConfig")), object_of(spec.get("deploymentOverrides"))
    if spec.get("enableGpuDiscovery") is True:
        out[DISCOVERY] = "true"
    if type(config := profiling.get("config")) is dict:
        out[CONFIG] = encode(config)
    if type(reference := profiling.get("configMapRef")) is dict:
        out[CONFIG_MAP] = encode(reference)
    if (claim := profiling.get("outputPVC")) and type(claim) is str:
        out[OUTPUT] = claim
    if written := {name: value for name, value in overrides.items() if value and name != "workersImage"}:
        out[OVERRIDES] = encode(written)
    return out


def _with_state(deployment: Fields, state: Any) -> Fields:
    written = {name: value for name, value in deployment.items() if value}
    return {**written, "state": deployment.get("state") or "", **({"requestState": state} if state else {})}


LEGACY: Final = Legacy(KEYS, read, write)
