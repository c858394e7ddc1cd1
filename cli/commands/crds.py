"""The command `crds`: the CustomResourceDefinitions, to be applied as they are printed, compared with those of a cluster."""

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import urlsplit

from ...api.crd import CONVERT, NAMESPACE, SERVICE, by_service, by_url, manifest
from ...api.kinds import BY_ALIAS, BY_NAME, KINDS
from ...api.line import DEFAULT_LINE, Line, of_definitions
from ...api.lost_fields import find_lost_fields
from ...kube.errors import ApiError
from ...kube.protocol import Cluster, Node
from ...kube.resources import CRDS
from ..console import flags
from ..console.exits import OK, REFUSED, UNREACHABLE, UNREADABLE, UsageError
from ..console.kind_names import parse_kind
from ..console.options import option, repeatable, switch
from ..console.output import write_stderr, write_stdout
from ..console.program import installed_version
from ..files.read import load_text
from ..installation.connection import connect_cluster
from ..rewrite.emit import emit_json, emit_yaml
from ..yaml.errors import InputError

HELP = "print the CustomResourceDefinitions"
_MAX_LISTED_FIELDS: Final = 20  # that a definition would take away


class Options(NamedTuple):
    """Flags and arguments."""

    kind: Annotated[tuple[str, ...], repeatable("only this kind (name, plural or short name); repeatable")] = ()
    output: Annotated[str, flags.output("yaml", "json", text="format (default yaml); several in JSON are one List")] = "yaml"
    namespace: Annotated[str | None, option("namespace of the conversion Service (default dynamo-system)", "NS")] = None
    service: Annotated[str | None, option("name of the conversion Service (default dynamo-webhooks)", "NAME")] = None
    url: Annotated[str | None, option("conversion server outside the cluster, instead of a Service: https://HOST[:PORT][/convert]")] = None
    ca_bundle: Annotated[str | None, option("PEM certificates for the caBundle of conversion", "FILE")] = None
    line: Annotated[
        Line | None, flags.release(f"operator release (default: with --cluster that of the cluster's definitions, else {DEFAULT_LINE})")
    ] = None
    cluster: Annotated[
        bool, switch("print nothing, with exit code 1, if fields would be lost; keep the definitions' url unless flags name another server")
    ] = False
    kubeconfig: flags.Kubeconfig = ""
    context: flags.ClusterContext = ""


def run(options: Options) -> int:
    """Prints the definitions in the order of kinds; 0, 1 when they would lower a cluster's, 4 for a bad bundle, 6. Raises: UsageError."""
    named = set(map(parse_kind, options.kind))
    kinds = [kind.name for kind in KINDS if not named or kind.name in named]  # in the same order however they are given
    aim = "compare with a cluster's definitions"
    flags.need_cluster(aim, cluster=options.cluster, kubeconfig=options.kubeconfig, context=options.context)
    try:
        bundle = _bundle(options.ca_bundle) if options.ca_bundle else b""
    except InputError as error:
        write_stderr(f"dynamo-webhooks crds: --ca-bundle {error}")
        return UNREADABLE
    conversion = _conversion(options, bundle)
    if options.cluster:
        import asyncio

        try:
            live = asyncio.run(_live(options))
        except ApiError as error:
            write_stderr(f"the cluster can't be asked: {error.message}")
            return UNREACHABLE
        moved = any(value is not None for value in (options.url, options.service, options.namespace))
        crds, lost = merge_with_live(live, lambda line: make_definitions(kinds, conversion, line), options.line, named=moved)
        if lost:
            write_stderr("\n".join(lost))
            return REFUSED
        write_stderr(_chosen_line(options.line, _line_of(live)))
    else:
        crds = make_definitions(kinds, conversion, options.line or DEFAULT_LINE)
    made = {crd["spec"]["names"]["kind"] for crd in crds}
    if gone := [kind for kind in kinds if options.kind and kind not in made]:
        raise UsageError(f"--kind {gone[0]}: this operator release has no such kind; nothing deletes a definition in the cluster")
    if options.output == "json":
        write_stdout(emit_json(crds[0] if len(crds) == 1 else {"apiVersion": "v1", "kind": "List", "items": crds}))
    else:
        write_stdout("---\n".join(emit_yaml(crd) for crd in crds))
    return OK


def make_definitions(kinds: Iterable[str], conversion: Mapping[str, Any], line: Line) -> list[dict[str, Any]]:
    """The definitions of those kinds that a line has, in the given order, as this release writes them. Raises KeyError."""
    generator = f"dynamo-webhooks {installed_version()}"
    return [manifest(kind, conversion, generator, line) for kind in kinds if BY_NAME[kind].is_of(line)]


def _conversion(options: Options, bundle: bytes) -> Mapping[str, Any]:
    if options.url is None:
        return by_service(options.namespace or NAMESPACE, options.service or SERVICE, bundle)
    for flag, value in (("--namespace", options.namespace), ("--service", options.service)):
        if value is not None:
            raise UsageError(f"--url names a server outside the cluster, {flag} one inside: use one of them")
    return by_url(_url(options.url), bundle)


def _url(text: str) -> str:
    """The URL for the API server, by default with our path. Raises: UsageError, which doesn't quote it, since it may hold a password."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of the port, or of brackets
        usable = False
    if not usable:
        raise UsageError("--url must be like https://HOST:PORT/convert; the API server speaks to webhooks by https alone")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise UsageError("--url must hold neither a user, a query nor a fragment; the API server refuses them")
    return text if parts.path.strip("/") else f"https://{parts.netloc}{CONVERT}"


def _bundle(file: str) -> bytes:
    """The certificates of a file, each as PEM. Raises: InputError for a file that holds anything else; a private key is never quoted."""
    from ssl import PROTOCOL_TLS_CLIENT, SSLContext, SSLError

    text = load_text(file)
    if "PRIVATE KEY" in text:
        raise InputError("holds a private key; name a file of certificates alone", file)
    certificates = re.findall(r"-----BEGIN CERTIFICATE-----\s.*?-----END CERTIFICATE-----", text, re.DOTALL)
    bundle = "".join(f"{block}\n" for block in certificates)
    if not certificates or text.count("-----BEGIN ") != len(certificates):
        raise InputError("must hold certificates as PEM and nothing else", file)
    try:
        SSLContext(PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=bundle)
    except (SSLError, ValueError):
        raise InputError("holds a certificate that can't be read", file) from None
    return bundle.encode()


def _chosen_line(named: Line | None, known: Line | None) -> str:
    """Describe the release of the definitions, and the `operator.version` that they require."""
    line = named or known or DEFAULT_LINE
    origin = ", as the cluster's are" if line is known else ""
    version = "" if line is DEFAULT_LINE else f"; operator.version must be {line}.0, or a patch of it"
    return f"definitions of operator {line}{origin}{version}"


def _line_of(live: Mapping[str, Node | None]) -> Line | None:
    return of_definitions(live.get(BY_ALIAS["DGD"].name), live.get(BY_ALIAS["DGDR"].name))


async def _live(options: Options) -> dict[str, Node | None]:
    async with connect_cluster("dynamo-webhooks-crds", options.kubeconfig, options.context) as cluster:
        return await read_live_definitions(cluster)


def merge_with_live(
    live: Mapping[str, Node | None], make: Callable[[Line], list[Node]], line: Line | None, *, named: bool = False
) -> tuple[list[Node], list[str]]:
    """The definitions, or sentences about what they would take from live ones; `named`: flags name the conversion's server."""
    known = _line_of(live)
    crds = make(line or known or DEFAULT_LINE)
    sentences = []
    for crd in crds:
        name = crd["metadata"]["name"]
        if lost := find_lost_fields(live.get(crd["spec"]["names"]["kind"]), crd):
            more = f" and {len(lost) - _MAX_LISTED_FIELDS} more" if len(lost) > _MAX_LISTED_FIELDS else ""
            sentences.append(f"{name}: the cluster's definition has {', '.join(lost[:_MAX_LISTED_FIELDS])}{more}")
    if not sentences:
        return [_beside(live.get(crd["spec"]["names"]["kind"]), crd, named=named) for crd in crds], []
    way = (
        f"use --line {known}"
        if known is not None and line is not None and line < known
        else "print the definitions with a release that knows these fields"
    )
    return [], [*sentences, f"applied over these, objects would lose those fields at their next write: {way}"]


def _beside(live: Node | None, crd: Node, *, named: bool) -> Node:
    """A definition that can be applied over any live one: the API server refuses a url beside a Service.

    Without flags the url stays: someone named a server outside of the cluster. With them, the other of both is null.
    """
    there, here = _client(live), _client(crd)
    if here is None or there is None or not (other := {"url", "service"} & there.keys() - here.keys()):
        return crd
    made = copy.deepcopy(crd)
    client = _client(made) or {}
    if named:
        client.update(dict.fromkeys(other))
    else:
        del client["service"]
        client["url"] = there["url"]
    return made


def _client(crd: Node | None) -> Node | None:
    webhook = (((crd or {}).get("spec") or {}).get("conversion") or {}).get("webhook") or {}
    return webhook.get("clientConfig")


async def read_live_definitions(cluster: Cluster) -> dict[str, Node | None]:
    """The definitions by kind; one call each. Raises: ApiError."""
    return {name: await cluster.get(CRDS, kind.crd_name) for name, kind in BY_NAME.items()}
