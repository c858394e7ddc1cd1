"""Facts as a file to commit: the same bytes for the same cluster, every unknown with its reason; and how names are taken out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.cli.rewrite.fresh import yaml_text
from dynamo_webhooks.policies.facts import Facts

if TYPE_CHECKING:
    from dynamo_webhooks.cli.facts.cluster import Gathered

HEAD: Final = """\
# Facts about a cluster and its operator, for `check --facts`; written by `dynamo-webhooks facts --cluster`.
# null means not known: rules that need such a fact are listed as not evaluated.
"""
_ACCOUNT: Final = "system:serviceaccount:"
_TOPOLOGIES: Final = "clusterTopologies"  # the fact whose null has another meaning, so that it is left out when it isn't known
_WIDTH: Final = 300  # characters of a reason; an API server's sentence may be long


def as_text(found: Gathered) -> str:
    """The whole file, in the order of the documented one."""
    return HEAD + "".join(_entry(name, found) for name in Facts._fields if name in found.values or name in found.reasons)


def _entry(name: str, found: Gathered) -> str:
    if name not in found.values:
        reason = " ".join(found.reasons[name].split())
        comment = f"# {name} is not known: {reason[:_WIDTH]}\n"
        return comment if name == _TOPOLOGIES else f"{comment}{name}: null\n"
    value = found.values[name]
    if name == _TOPOLOGIES and value is None:
        return f"# the cluster serves no ClusterTopologies\n{name}: null\n"
    return yaml_text({name: value})


def redacted(found: Gathered) -> Gathered:
    """The same with numbers in place of the names of namespaces and accounts; one name has one number everywhere.

    Topologies keep their names, for objects ask for them by name. Reasons keep what comes before a colon: an API server's sentence, which
    follows it, names who asked.
    """
    values = dict(found.values)
    principal, excluded = values.get("operatorPrincipal"), values.get("excludedNamespaces")
    namespace, account = _account(principal)
    known = sorted({*(excluded or ()), *([namespace] if namespace else [])})
    numbered = {name: f"namespace-{number}" for number, name in enumerate(known, 1)}
    if excluded:
        values["excludedNamespaces"] = [numbered[name] for name in sorted(excluded)]
    if principal:
        values["operatorPrincipal"] = f"{_ACCOUNT}{numbered[namespace]}:account-1" if account else "user-1"
    return found._replace(values=values, reasons={name: reason.partition(":")[0] for name, reason in found.reasons.items()})


def _account(principal: Any) -> tuple[str, str]:
    """Namespace and name of a service account; empty for another user."""
    if not isinstance(principal, str) or not principal.startswith(_ACCOUNT):
        return "", ""
    namespace, _, name = principal.removeprefix(_ACCOUNT).partition(":")
    return namespace, name
