"""The command `facts`: reads the facts of a cluster into a facts file to commit."""

import asyncio
from typing import Annotated, Any, Final, NamedTuple

from ...kube.errors import ApiError
from ...policies.facts import Facts
from ..console import flags
from ..console.exits import OK, UNREACHABLE, UsageError
from ..console.options import option, switch
from ..console.output import write_stderr, write_stdout
from ..facts.gather import MANAGER, GatheredFacts, gather_facts
from ..files.write import replace_file
from ..installation.connection import connect_cluster
from ..rewrite.emit import emit_yaml

HEAD: Final = """\
# Facts about a cluster and its operator, for `check --facts`; written by `dynamo-webhooks facts --cluster`.
# null means not known: rules that need such a fact are listed as not evaluated.
"""
_ACCOUNT: Final = "system:serviceaccount:"
_TOPOLOGIES: Final = "clusterTopologies"  # the fact whose null has another meaning, so that it is left out when it isn't known
_MAX_REASON_CHARACTERS: Final = 300  # an API server's sentence may be long


def format_facts(gathered: GatheredFacts) -> str:
    """The whole file, in the order of the documented one."""
    return HEAD + "".join(_entry(name, gathered) for name in Facts._fields if name in gathered.values or name in gathered.reasons)


def _entry(name: str, gathered: GatheredFacts) -> str:
    if name not in gathered.values:
        reason = " ".join(gathered.reasons[name].split())
        comment = f"# {name} is not known: {reason[:_MAX_REASON_CHARACTERS]}\n"
        return comment if name == _TOPOLOGIES else f"{comment}{name}: null\n"
    value = gathered.values[name]
    if name == _TOPOLOGIES and value is None:
        return f"# the cluster serves no ClusterTopologies\n{name}: null\n"
    return emit_yaml({name: value})


def redact(gathered: GatheredFacts) -> GatheredFacts:
    """Replace names of namespaces and accounts by numbers; one name has one number everywhere.

    Topologies keep their names, for objects ask for them. Reasons keep what comes before a colon: behind it an API server names who asked.
    """
    values = dict(gathered.values)
    principal, excluded = values.get("operatorPrincipal"), values.get("excludedNamespaces")
    namespace, account = _account(principal)
    known = sorted({*(excluded or ()), *([namespace] if namespace else [])})
    numbered = {name: f"namespace-{number}" for number, name in enumerate(known, 1)}
    if excluded:
        values["excludedNamespaces"] = [numbered[name] for name in sorted(excluded)]
    if principal:
        values["operatorPrincipal"] = f"{_ACCOUNT}{numbered[namespace]}:account-1" if account else "user-1"
    return gathered._replace(values=values, reasons={name: reason.partition(":")[0] for name, reason in gathered.reasons.items()})


def _account(principal: Any) -> tuple[str, str]:
    """Namespace and name of a service account; empty for another user."""
    if not isinstance(principal, str) or not principal.startswith(_ACCOUNT):
        return "", ""
    namespace, _, name = principal.removeprefix(_ACCOUNT).partition(":")
    return namespace, name


HELP: Final = "collect facts about a cluster in a file to commit"


class Options(NamedTuple):
    """Flags and arguments."""

    cluster: Annotated[bool, switch("read the cluster, without changing it")] = False
    namespace: Annotated[str, option("namespace of the operator, if several are installed", "--namespace", "-n", "NS")] = ""
    kubeconfig: flags.Kubeconfig = ""
    context: flags.Context = ""
    redact: Annotated[bool, switch("replace names of namespaces and accounts with numbers")] = False
    output: Annotated[str | None, option("file to write instead of stdout", "-o", "FILE")] = None


def run(options: Options) -> int:
    """Prints or writes the file; 6 when the cluster can't be reached. Raises: UsageError."""
    if not options.cluster:
        raise UsageError("--cluster must be given: facts are read from a cluster, that of the current context unless flags name another")
    try:
        gathered = asyncio.run(_gathered(options))
    except ApiError as error:
        write_stderr(f"the cluster can't be asked: {error.message}")
        return UNREACHABLE
    gathered = redact(gathered) if options.redact else gathered
    if options.output is None:
        write_stdout(format_facts(gathered))
    else:
        replace_file(options.output, format_facts(gathered))
    if gathered.later:
        write_stderr(gathered.later)
    for name, reason in gathered.reasons.items():
        write_stderr(f"{name} is not known: {reason}")
    return OK


async def _gathered(options: Options) -> GatheredFacts:
    async with connect_cluster(MANAGER, options.kubeconfig, options.context) as cluster:
        return await gather_facts(cluster, options.namespace)
