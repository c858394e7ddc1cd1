"""Names and values of services."""

import re
from typing import Final

from ..at import At
from ..domain import list_components
from ..review import CREATE
from ..rule import GRAPH, Hits, Stage, differs, rule
from ..words import format_words


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@differs(("G-08",), "two services would overwrite each other's child objects", lacking=True)
@rule("DYN110", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,))
def service_name_collision(at: At) -> Hits:
    """Two services have names that differ only in case.

    Why
        Names of child objects are written in lower case, so both services would own the same Deployment and overwrite each other for ever.

    Fix
        Rename one of them.

    Example
    bad spec:
    bad   components:
    bad     - {name: Worker, type: worker}
    bad     - {name: worker, type: worker}  # expect
    ok  spec: {components: [{name: worker-a, type: worker}, {name: worker-b, type: worker}]}
    """
    components = list_components(at.value)
    if len({name.lower() for _, name, _ in components}) == len(components):
        return
    names = {name: index for index, name, _ in components}
    first: dict[str, str] = {}
    for name in sorted(names):
        other = first.setdefault(name.lower(), name)
        if other != name:
            text = format_words('must differ from {service} "{other}" in more than case, got "{name}"', other=other, name=name)
            yield at.duplicate(("components", names[name]), name, text)


_LONGEST: Final = 63
_NAME: Final = re.compile(rf"[A-Za-z0-9](?:[-A-Za-z0-9]{{0,{_LONGEST - 2}}}[A-Za-z0-9])?")


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@differs(("G-08",), "names that child objects and v1beta1 components can't have would fail later", lacking=True)
@rule("DYN109", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,))
def service_name_format(at: At) -> Hits:
    """A service's name can't be used for the objects that are made of it.

    Why
        Deployments, Kubernetes services and labels carry the service's name. Blanks, dots, slashes and underscores make them invalid, and
        v1beta1 can't express such a service at all.

    Fix
        Use 1 to 63 letters, digits and dashes, with a letter or digit at both ends.

    Example
    bad spec:
    bad   components:
    bad     - {name: decode.worker, type: worker}  # expect
    bad     - {name: prefill_worker, type: worker}  # expect
    ok  spec: {components: [{name: PrefillWorker, type: worker}, {name: decode-worker, type: worker}]}
    """
    for index, name, _ in list_components(at.value):
        # most names are letters and digits only, which needs no pattern
        if not (name.isalnum() and name.isascii() and len(name) <= _LONGEST) and not _NAME.fullmatch(name):
            seen = f"{len(name)} characters" if len(name) > _LONGEST else f'"{name}"'
            text = f"must be named with 1 to {_LONGEST} letters, digits and inner dashes, got {seen}"
            yield at.invalid(("components", index), name, text)
