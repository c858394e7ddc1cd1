"""DYN207: an ingress host that is no host name."""

import re
from typing import Final

from policies.at import At
from policies.domain import enabled
from policies.order import Stage
from policies.rule import COMPONENT, Difference, Hits, rule

_LABEL: Final = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
# a lone * is a wildcard too: the suffix follows it
_HOST: Final = re.compile(rf"(?:\*|(?:\*\.)?{_LABEL}(?:\.{_LABEL})*)")
_LONGEST: Final = 253  # characters of a DNS name


@rule(
    "DYN207",
    where=COMPONENT,
    when="ingress",
    stage=Stage.COMPONENT,
    current_only=Difference(("G-25",), "an ingress host that is blank or no host name makes an Ingress that Kubernetes refuses"),
)
def ingress_host_format(at: At) -> Hits:
    """An ingress host is no host name.

    Why
        The operator writes prefix, host and suffix into an Ingress as one name. Kubernetes refuses that Ingress unless the name is made of
        lower-case letters, digits, dots and inner dashes, and the component is never reached.

    Fix
        Write a plain host name without scheme, port or path. A leading `*` label is allowed.

    Bad
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true, host: "https://chat"}  # expect
        ```
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress:
                enabled: true
                host: " "  # expect
        ```
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true, hostPrefix: team_a-, host: chat}  # expect
        ```

    Good
        ```yaml
        spec:
          services:
            frontend:
              componentType: frontend
              ingress: {enabled: true, hostPrefix: team-a-, host: chat, hostSuffix: example.com}
            other:
              componentType: frontend
              ingress: {enabled: true, host: "*.chat"}
        ```
    """
    ingress = at.value["ingress"]
    if enabled(ingress) and ingress.get("host"):
        host = (ingress.get("hostPrefix") or "") + ingress["host"]
        if len(host) > _LONGEST or not _HOST.fullmatch(host):
            behind = " behind the hostPrefix" if ingress.get("hostPrefix") else ""
            text = f'must be a host name in lower case of at most {_LONGEST} characters{behind}, got "{host}"'
            yield at.invalid("ingress.host", ingress["host"], text)
