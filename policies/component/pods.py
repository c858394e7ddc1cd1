"""Pods that an API server refuses, or that never become ready."""

from typing import Any, Final

from ...api.paths import Path
from ..at import At, Findings
from ..components import WORKERS
from ..engines import list_sidecars, list_templates
from ..grove import component_off_grove
from ..pods import PROBES, list_refused
from ..rule import COMPONENT, Stage, differs, rule
from ..words import quote_once

_TEMPLATE: Final = "podTemplate"
_ENDS: Final = ("podTemplate.spec.activeDeadlineSeconds", "podTemplate.spec.restartPolicy!=Always")
_PORTS: Final = ("podTemplate.spec.containers.ports", "podTemplate.spec.containers.env.name=DYN_SYSTEM_PORT,DYN_HTTP_PORT")
# by type: the port that the default probes ask, how many of the probes there are, and the variable that moves the server
DEFAULT_PROBES: Final = {
    **dict.fromkeys((*WORKERS, "planner"), ("system", 3, "DYN_SYSTEM_PORT", "9090")),
    "frontend": ("http", 2, "DYN_HTTP_PORT", "8000"),
}


@differs("the API server refuses the pods later, where the error is hard to find", lacking=True)
@rule("DYN229", where=COMPONENT, when="podTemplate", stage=Stage.COMPONENT)
def pod_refused(at: At) -> Findings:
    """The API server would refuse the component's pods.

    Why
        The definition of the kind checks only the types of a pod template. The API server checks the rest when a pod is created, so the
        component would never start.

    Fix
        Correct the field as the message says.

    Example
         {worker with a pod}
                   volumes: [{name: models, emptyDir: {}}]
                   containers:
                     - name: main
                       image: example/vllm:1.5.0
        -              livenessProbe: {periodSeconds: 5}  # expect
        +              livenessProbe: {periodSeconds: 5, tcpSocket: {port: 9090}}
                       resources:
                         requests:
        -                  example.com/nic: "1"  # expect
        +                  cpu: "1"
                     - name: loader
                       image: example/loader:1.5.0
                       ports:
        -                - {name: loader-metrics-port, containerPort: 8080}  # expect
        +                - {name: metrics, containerPort: 8080}
                       volumeMounts:
        -                - {name: model, mountPath: /models}  # expect
        +                - {name: models, mountPath: /models}
    """
    for path, text in list_refused(at.value, at.value["podTemplate"]):
        if path[-1] != "mountPath" or (_TEMPLATE, *path[:3]) != at.main[1]:  # another rule reports those of the main container
            yield at.invalid((_TEMPLATE, *path), None, text)


@differs("the API server refuses the pods' Deployment later, where the error is hard to find", lacking=True)
@rule("DYN261", where=COMPONENT, when=_ENDS, stage=Stage.COMPONENT, needs=("grove",))
def pod_ends_off_grove(at: At) -> Findings:
    """The pods of a component off Grove would end.

    Why
        A Deployment or LeaderWorkerSet has pods that run until they are deleted: the API server refuses others.

    Fix
        Remove the field.

    Example
         # facts: {grove: false}
         spec:
           components:
             - name: worker
               type: worker
               podTemplate:
                 spec:
                   containers: [{name: main, image: "example/vllm:1.5.0"}]
        -          activeDeadlineSeconds: 3600  # expect
        -          restartPolicy: OnFailure  # expect
    """
    spec = at.value["podTemplate"]["spec"]
    ends = [(field, spec.get(field)) for field in ("activeDeadlineSeconds", "restartPolicy") if spec.get(field) not in (None, "", "Always")]
    if ends and (reason := component_off_grove(at)):
        for field, value in ends:
            yield at.invalid((_TEMPLATE, "spec", field), value, f"must be unset without Grove, got {quote_once(str(value))}: {reason}")


@differs("such pods start, and never become ready", lacking=True)
@rule("DYN917", where=COMPONENT, when=_PORTS, stage=Stage.ADVICE)
def default_probe_unanswered(at: At) -> Findings:
    """No port of the main container answers the default probes.

    Why
        A component without probes of its own is asked at its port `system`, a frontend at `http`. If the container has other ports only, or
        its program listens at another one, the pods never become ready.

    Fix
        Name the port `system`, or `http` for a frontend, with the number that the program listens at, or write all probes yourself.

    Example
         {worker with a pod}
                   containers:
                     - name: main
                       image: example/vllm:1.5.0
        -              ports: [{name: metrics, containerPort: 9090}]  # expect
        +              ports: [{name: system, containerPort: 9090}]

         {worker with a pod}
                   containers:
                     - name: main
                       image: example/vllm:1.5.0
        -              env: [{name: DYN_SYSTEM_PORT, value: "8081"}]  # expect
        +              env: [{name: DYN_SYSTEM_PORT, value: "9090"}]
    """
    default_probes = DEFAULT_PROBES.get(at.value.get("type") or "")
    if default_probes is None or list_sidecars(at.value) or list_templates(at.value):
        return
    name, count, variable, usual = default_probes
    main, place = at.main
    if not main or all(main.get(probe) is not None for probe in PROBES[:count]):
        return
    ports = [port for port in main.get("ports") or () if port]
    number = usual
    if ports:
        named = next((port for port in ports if port.get("name") == name), None)
        if named is None:
            yield at.warning((*place, "ports"), f"must have a port {name}, which the default probes ask, got none")
            return
        number = str(named.get("containerPort"))
    yield from _moved(at, place, main.get("env") or (), variable, number)


def _moved(at: At, path: Path, env: Any, variable: str, number: str) -> Findings:
    """Finds a variable that makes the program listen at another port than the probes ask."""
    for index, entry in enumerate(env):
        value = (entry or {}).get("value")
        if entry and entry.get("name") == variable and value and value.isdecimal() and value != number:
            text = f"must be {number}, the port that the default probes ask, got {quote_once(value)}"
            yield at.warning((*path, "env", index, "value"), text)
