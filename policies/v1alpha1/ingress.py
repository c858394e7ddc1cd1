"""The ingress, which v1beta1 lacks."""

import re
from typing import Final

from ..at import At, Findings
from ..components import LPX, is_enabled
from ..finding import Mend
from ..review import UPDATE
from ..rule import COMPONENT_V1ALPHA1, Stage, differs, rule

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
# a lone * is a wildcard too: the suffix follows it
_HOST: Final = re.compile(rf"(?:\*|(?:\*\.)?{_LABEL}(?:\.{_LABEL})*)")
_MAX_NAME_CHARACTERS: Final = 253  # of a DNS name


@differs("Kubernetes refuses the Ingress of an invalid host", lacking=True)
@rule("DYN207", where=COMPONENT_V1ALPHA1, when="ingress", stage=Stage.COMPONENT)
def ingress_host_format(at: At) -> Findings:
    """An ingress host isn't a valid host name.

    Why
        The operator joins prefix, host and suffix to one name, for an Ingress or an Istio VirtualService. The object is refused unless the
        name consists of letters, digits, dots and inner dashes (for an Ingress in lower case), and then clients can't reach the component.
        If neither object is created, the host isn't checked.

    Fix
        Write a host name without scheme, port or path. The first label may be `*`.

    Example
        -{frontend service}
        -      ingress: {enabled: true, ingressControllerClassName: nginx, host: "https://chat"}  # expect

        -{frontend service}
        -      ingress:
        -        enabled: true
        -        useVirtualService: true
        -        host: " "  # expect

         {frontend service}
        -      ingress: {enabled: true, ingressControllerClassName: nginx, hostPrefix: team_a-, host: chat}  # expect
        +      ingress: {enabled: true, ingressControllerClassName: nginx, hostPrefix: team-a-, host: chat, hostSuffix: example.com}
        +    other:
        +      componentType: frontend
        +      ingress: {enabled: true, ingressControllerClassName: nginx, host: "*.chat"}
        +    neither:
        +      componentType: frontend
        +      ingress: {enabled: true, host: Chat_Room}
    """
    ingress = at.value["ingress"]
    of_ingress = bool(ingress.get("ingressControllerClassName"))
    if not is_enabled(ingress) or not ingress.get("host") or not (of_ingress or ingress.get("useVirtualService")):
        return
    host = (ingress.get("hostPrefix") or "") + ingress["host"]
    # Istio takes capital letters
    if len(host) > _MAX_NAME_CHARACTERS or not _HOST.fullmatch(host if of_ingress else host.lower()):
        behind = " behind the hostPrefix" if ingress.get("hostPrefix") else ""
        case = " in lower case" if of_ingress else ""
        text = f'must be a host name{case} of at most {_MAX_NAME_CHARACTERS} characters{behind}, got "{host}"'
        close = re.sub(r"^[A-Za-z]+://", "", ingress["host"]).partition("/")[0].partition(":")[0].strip().lower()
        whole = (ingress.get("hostPrefix") or "") + close
        mend = Mend(close) if len(whole) <= _MAX_NAME_CHARACTERS and _HOST.fullmatch(whole) else None
        yield at.invalid("ingress.host", ingress["host"], text, mend=mend)


@rule("DYN202", where=COMPONENT_V1ALPHA1, when="ingress", stage=Stage.COMPONENT)
def ingress_host_required(at: At) -> Findings:
    """An ingress is enabled, but has no host.

    Why
        The ingress controller routes requests to this component by the host.

    Fix
        Set `ingress.host`, or disable the ingress.

    Example
         {frontend service}
        -      ingress: {enabled: true}  # expect
        +      ingress: {enabled: true, host: chat}
        +    worker:
        +      componentType: worker
        +      ingress: {enabled: false}
    """
    ingress = at.value["ingress"]
    if is_enabled(ingress) and not ingress.get("host"):
        yield at.required("ingress.host", "must name a host while the ingress is enabled, got nothing")


@rule(
    "DYN259",
    where=COMPONENT_V1ALPHA1,
    when="componentType=lpx",
    on=(UPDATE,),
    stage=Stage.COMPONENT,
    needs=("lpx",),
    ratchets=False,
    since="1.6",
)
def ingress_lpx_gate(at: At) -> Findings:
    """The ingress of a component of type lpx changes, but LPX is disabled in the operator.

    Why
        While LPX is disabled, the component and its ingress must stay unchanged.

    Fix
        Enable LPX in the operator's configuration (`lpx.enabled`), or restore the old `ingress`.

    Example
        -# facts: {lpx: false}
        -spec:
        -  services:
        -    worker:
        -      componentType: lpx
        -      {lpx roles}
        ---- # becomes
         spec:
           services:
             worker:
               componentType: lpx  # expect
               lpx: {buildId: b}
               ingress: {enabled: true, host: worker}
               roles:
                 {agent and conductor}
    """
    if not at.old or {**at.value, "ingress": None} != {**at.old, "ingress": None}:
        return  # lpx-gate judges the rest, and components that become one
    if at.value.get("ingress") != at.old.get("ingress") and not at.fact("lpx"):
        yield at.forbidden("componentType", f'must not be "{LPX}" with another ingress while LPX is switched off in the operator')
