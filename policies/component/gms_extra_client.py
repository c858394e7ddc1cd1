"""Additional clients of the GPU memory service."""

from ..at import At
from ..domain import LABEL_WANTED, MAIN, is_label, list_containers
from ..rule import COMPONENT, Difference, Hits, Stage, rule

_CLIENTS = ("experimental", "gpuMemoryService", "extraClientContainers")


@rule(
    "DYN309",
    where=COMPONENT,
    when="experimental",
    removes=True,
    stage=Stage.GMS,
    differs=Difference((), "the schema makes the list a set; this rule judges objects that bypassed it", lacking=True),
)
def gms_extra_client_duplicate(at: At) -> Hits:
    """A further client of the GPU memory service is named twice.

    Why
        The list is a set: a container is a client or it isn't. A repeated name is usually a slip for another container's.

    Fix
        Name each container once.

    Example
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}, {name: probe}]}}
    bad       experimental:
    bad         gpuMemoryService:
    bad           extraClientContainers:
    bad             - probe
    bad             - probe  # expect
    ok        experimental: {gpuMemoryService: {extraClientContainers: [probe, main]}}
    """
    seen: set[str] = set()
    for index, name in enumerate(at.get(_CLIENTS) or ()):
        if name and name in seen:
            yield at.duplicate((*_CLIENTS, index), name, f'must be named once, got "{name}" again')
        seen.add(name)


@rule("DYN303", where=COMPONENT, when="experimental", stage=Stage.GMS, differs=Difference((), "a service that is off has no clients"))
def gms_extra_client_name(at: At) -> Hits:
    """A further client of the GPU memory service has a name that no container can have.

    Why
        The entries are names of containers, which are DNS labels. One that is none can't be found in the pod. It is looked at while the
        service is switched off too, as the schema does, so that switching it on brings no surprises.

    Fix
        Write the name of a container of the pod: lower-case letters, digits and inner dashes, at most 63.

    Example
        spec:
          components:
            - name: worker
              type: worker
              podTemplate: {spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}, {name: probe}]}}
    bad       experimental:
    bad         gpuMemoryService:
    bad           extraClientContainers: [Probe]  # expect
    ok        experimental: {gpuMemoryService: {extraClientContainers: [probe]}}
    """
    for index, name in enumerate(at.get(_CLIENTS) or ()):
        if not is_label(name or ""):
            text = f'{LABEL_WANTED}, got "{name or ""}"'
            yield at.invalid((*_CLIENTS, index), name, text)


@rule(
    "DYN308",
    where=COMPONENT,
    when="experimental",
    stage=Stage.GMS,
    differs=Difference((), "a misspelled client would be silently ignored", lacking=True),
)
def gms_extra_client_unknown(at: At) -> Hits:
    """A further client of the GPU memory service is no container of the pod.

    Why
        The named containers get the claim and the socket directory of the service. A name that fits none is passed over silently, and the
        container that was meant fails to find the service. Init containers are no clients.

    Fix
        Name a container in `{extraPodSpec}.containers`, or remove the entry. The main container is a client without being named.

    Example
        spec:
          components:
            - name: worker
              type: worker
              podTemplate:
                spec:
                  containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}, {name: probe, image: "example/probe:1"}]
    bad       experimental:
    bad         gpuMemoryService:
    bad           extraClientContainers:
    bad             - prob  # expect
    ok        experimental: {gpuMemoryService: {extraClientContainers: [probe]}}
    """
    if clients := at.get(_CLIENTS):
        known = {MAIN, *(container.get("name") for container in list_containers(at.value))}
        for index, name in enumerate(clients):
            # a malformed name is refused by gms-extra-client-name
            if name and name not in known and is_label(name):
                yield at.not_found((*_CLIENTS, index), name, f'must name a container of the pod, got "{name}"')
