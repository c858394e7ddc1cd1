"""The map of a graph's services."""

from ...api.paths import Key
from ..at import At, Findings
from ..review import Fields
from ..rule import GRAPH_V1ALPHA1, Stage, differs, rule


@differs("the Go operator fails on a null service; here it is a finding, and nulls in the stored object are ignored")
@rule("DYN102", where=GRAPH_V1ALPHA1, when="services", stage=Stage.SHAPE)
def service_null(at: At) -> Findings:
    """A service has a name, but its value is null.

    Why
        `worker:` without a value is null. The API server silently drops such an entry, and the graph starts without the service.

    Fix
        Write `{}` after the name for a {service} without settings, or remove the entry.

    Example
         spec:
           services:
             frontend: {componentType: frontend}
        -    worker: null  # expect
        +    worker: {}
    """
    services: Fields = at.value["services"]
    for name, service in services.items():
        if service is None:
            fix = f"write `{name}: {{}}` for a service without settings, or remove the entry"
            yield at.invalid(("services", Key(name)), None, "must be an object, got null", fix=fix)
