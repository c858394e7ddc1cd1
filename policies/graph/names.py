"""Names of a graph's components."""

import re
from typing import Final

from ..at import At, Findings
from ..components import LPX, WORKERS, is_multinode, list_components
from ..grove import explain_off_grove
from ..review import CREATE
from ..rule import GRAPH, GRAPH_OBJECT, Stage, differs, rule
from ..words import format_words


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@differs("two services would overwrite each other's child objects", lacking=True)
@rule("DYN110", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,))
def service_name_collision(at: At) -> Findings:
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


_MAX_NAME_CHARACTERS: Final = 63
_NAME: Final = re.compile(rf"[A-Za-z0-9](?:[-A-Za-z0-9]{{0,{_MAX_NAME_CHARACTERS - 2}}}[A-Za-z0-9])?")


# A name is fixed once the graph exists, so that only a create can be asked to have another one.
@differs("names that child objects and v1beta1 components can't have would fail later", lacking=True)
@rule("DYN109", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,))
def service_name_format(at: At) -> Findings:
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
        if not (name.isalnum() and name.isascii() and len(name) <= _MAX_NAME_CHARACTERS) and not _NAME.fullmatch(name):
            seen = f"{len(name)} characters" if len(name) > _MAX_NAME_CHARACTERS else f'"{name}"'
            text = f"must be named with 1 to {_MAX_NAME_CHARACTERS} letters, digits and inner dashes, got {seen}"
            yield at.invalid(("components", index), name, text)


@differs("the API server would refuse the label on all pods", lacking=True)
@rule("DYN116", where=GRAPH_OBJECT, stage=Stage.NAMES, on=(CREATE,))
def dynamo_namespace_length(at: At) -> Findings:
    """The names of the namespace and the graph are together too long for a label.

    Why
        The namespace, a dash and the graph's name make the label `nvidia.com/dynamo-namespace` of all pods. A label may have 63 characters,
        so no pod could be created.

    Fix
        Give the graph a shorter name, or create it in a namespace with a shorter name. A {service} with `globalDynamoNamespace` has another
        label.

    Example
         metadata:
           namespace: research-department-of-the-company
        -  name: disaggregated-serving-of-models  # expect
        +  name: disaggregated-serving
    """
    name, namespace = at.review.metadata.get("name") or "", at.review.metadata.get("namespace")
    if not namespace or (length := len(namespace) + 1 + len(name)) <= _MAX_NAME_CHARACTERS:
        return
    if not all(
        component.get("globalDynamoNamespace") or component.get("type") == LPX for _, _, component in list_components(at.review.spec)
    ):
        text = f'must make a label of at most {_MAX_NAME_CHARACTERS} characters with the namespace "{namespace}", makes one of {length}'
        yield at.invalid("metadata.name", name, text, fix=f"shorten the graph's name by {length - _MAX_NAME_CHARACTERS} characters")


_GENERATION: Final = len("-01234567")  # of workers, in the names of their Deployments


@differs("the API server would refuse the component's pods", lacking=True)
@rule("DYN117", where=GRAPH, when="components", stage=Stage.NAMES, on=(CREATE,), needs=("grove",))
def child_name_length(at: At) -> Findings:
    """The names of the graph and the component are together too long for its child objects.

    Why
        The graph's name, a dash and the component's name make the name of the component's Service and a label of its pods. Both may have 63
        characters. Without Grove, workers need 9 more for their generation.

    Fix
        Give the graph or the {service} a shorter name.

    Example
         # facts: {grove: false}
         metadata: {name: disaggregated-serving-of-models}
         spec:
           components:
        -    - {name: prefill-worker-of-model, type: worker}  # expect
        -    - {name: frontend-of-the-very-large-model, type: frontend}  # expect
        +    - {name: prefill-worker-of-one, type: worker}
        +    - {name: frontend-of-the-very-large-one, type: frontend}
    """
    graph = at.review.metadata.get("name") or ""
    for index, name, component in at.components:
        length, kind = len(graph) + 1 + len(name), component.get("type")
        if length + _GENERATION <= _MAX_NAME_CHARACTERS or kind == LPX:
            continue
        if length <= _MAX_NAME_CHARACTERS and kind in WORKERS and not is_multinode(component) and explain_off_grove(at):
            length += _GENERATION
        # the name of a LeaderWorkerSet is cut
        if length > _MAX_NAME_CHARACTERS and not (is_multinode(component) and explain_off_grove(at)):
            text = f"must make a name of at most {_MAX_NAME_CHARACTERS} characters with the graph's name, makes one of {length}"
            fix = format_words(
                "shorten the name of the graph or the {service} by {surplus} characters", surplus=length - _MAX_NAME_CHARACTERS
            )
            yield at.invalid(("components", index), name, text, fix=fix)
