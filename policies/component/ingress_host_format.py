"""DYN207: an ingress host that is no host name."""

import re
from typing import Final

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import enabled
from dynamo_webhooks.policies.finding import Mend
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.rule import COMPONENT, Difference, Hits, rule

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
# a lone * is a wildcard too: the suffix follows it
_HOST: Final = re.compile(rf"(?:\*|(?:\*\.)?{_LABEL}(?:\.{_LABEL})*)")
_LONGEST: Final = 253  # characters of a DNS name


@rule(
    "DYN207",
    where=COMPONENT,
    when="ingress",
    stage=Stage.COMPONENT,
    current_only=Difference(("G-25",), "Kubernetes refuses the Ingress of an invalid host"),
)
def ingress_host_format(at: At) -> Hits:
    """An ingress host is no host name.

    Why
        The operator writes prefix, host and suffix into an Ingress or an Istio VirtualService as one name. Such an object is refused unless
        the name is made of letters, digits, dots and inner dashes (for an Ingress in lower case), and the component is never reached. A
        host for which neither is made is not looked at.

    Fix
        Write a plain host name without scheme, port or path. A leading `*` label is allowed.

    Bad
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true, ingressControllerClassName: nginx, host: "https://chat"}  # expect
        ```
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress:
                enabled: true
                useVirtualService: true
                host: " "  # expect
        ```
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true, ingressControllerClassName: nginx, hostPrefix: team_a-, host: chat}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true, ingressControllerClassName: nginx, hostPrefix: team-a-, host: chat, hostSuffix: example.com}
            other:
              componentType: frontend
              ingress: {enabled: true, ingressControllerClassName: nginx, host: "*.chat"}
            neither:
              componentType: frontend
              ingress: {enabled: true, host: Chat_Room}
        ```
    """
    ingress = at.value["ingress"]
    of_ingress = bool(ingress.get("ingressControllerClassName"))
    if not enabled(ingress) or not ingress.get("host") or not (of_ingress or ingress.get("useVirtualService")):
        return
    host = (ingress.get("hostPrefix") or "") + ingress["host"]
    # Istio takes capital letters
    if len(host) > _LONGEST or not _HOST.fullmatch(host if of_ingress else host.lower()):
        behind = " behind the hostPrefix" if ingress.get("hostPrefix") else ""
        case = " in lower case" if of_ingress else ""
        text = f'must be a host name{case} of at most {_LONGEST} characters{behind}, got "{host}"'
        close = re.sub(r"^[A-Za-z]+://", "", ingress["host"]).partition("/")[0].partition(":")[0].strip().lower()
        whole = (ingress.get("hostPrefix") or "") + close
        mend = Mend(close) if len(whole) <= _LONGEST and _HOST.fullmatch(whole) else None
        yield at.invalid("ingress.host", ingress["host"], text, mend=mend)
