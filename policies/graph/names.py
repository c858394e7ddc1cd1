"""Names of a graph's components."""

import re
from typing import Final

from ..at import At, Hits
from ..review import CREATE
from ..rule import GRAPH, Stage, differs, rule
from ..words import format_words


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@differs(("G-08",), "two services would overwrite each other's child objects", lacking=True)
@rule("DYN110", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,))
def service_name_collision(at: At) -> Hits:
    """Two components have names that differ only in case.

    Why
        Names of child objects are lower case, so both components would own the same Deployment, and overwrite each other again and again.

    Fix
        Rename one of them.

    Example
         spec:
           components:
        -    - {name: Worker, type: worker}
        -    - {name: worker, type: worker}  # expect
        +    - {name: worker-a, type: worker}
        +    - {name: worker-b, type: worker}
    """
    components = at.components
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
    """A component's name can't be used for its child objects.

    Why
        Deployments, Services and labels contain the component's name. Spaces, dots, slashes and underscores make them invalid, and v1beta1
        doesn't allow such a name at all.

    Fix
        Use 1 to 63 letters, digits and dashes, and begin and end with a letter or digit.

    Example
         spec:
           components:
        -    - {name: decode.worker, type: worker}  # expect
        -    - {name: prefill_worker, type: worker}  # expect
        +    - {name: PrefillWorker, type: worker}
        +    - {name: decode-worker, type: worker}
    """
    for index, name, _ in at.components:
        # most names are letters and digits only, which needs no pattern
        if not (name.isalnum() and name.isascii() and len(name) <= _LONGEST) and not _NAME.fullmatch(name):
            seen = f"{len(name)} characters" if len(name) > _LONGEST else f'"{name}"'
            text = f"must be named with 1 to {_LONGEST} letters, digits and inner dashes, got {seen}"
            yield at.invalid(("components", index), name, text)
