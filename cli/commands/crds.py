"""The command `crds`: the CustomResourceDefinitions, to be applied as they are printed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from dynamo_webhooks.api.line import INSTALLED, Line
from dynamo_webhooks.cli import flags

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HELP = "print the CustomResourceDefinitions"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the flags."""
    parser.add_argument("--kind", action="append", default=[], help="only this kind (name, plural or short name); repeatable")
    parser.add_argument(
        "-o", "--output", choices=("yaml", "json"), default="yaml", help="format (default yaml); several in JSON are one List"
    )
    parser.add_argument("--namespace", metavar="NS", help="namespace of the conversion Service (default dynamo-system)")
    parser.add_argument("--service", metavar="NAME", help="name of the conversion Service (default dynamo-webhooks)")
    parser.add_argument("--url", help="conversion server outside the cluster, instead of a Service: https://HOST[:PORT][/convert]")
    parser.add_argument("--ca-bundle", metavar="FILE", help="PEM certificates for the caBundle of conversion")
    flags.line(parser, f"line of the operator (default: with --cluster that of the cluster's definitions, else {INSTALLED})")
    parser.add_argument("--cluster", action="store_true", help="print nothing, with exit code 1, if the cluster's definitions have more")
    flags.kubeconfig(parser)
    parser.add_argument("--context", metavar="NAME", default="", help="with --cluster: context of the kubeconfig")
    flags.verbose(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the definitions in the order of the table of kinds; 0, 1 when they would lower a cluster's, 4 for a bad bundle, 6.

    Raises: UsageError for flags that don't go together or can't be used.
    """
    from dynamo_webhooks.cli.exits import OK, UNREADABLE
    from dynamo_webhooks.cli.output import say, write
    from dynamo_webhooks.cli.rewrite.fresh import json_text, yaml_text
    from dynamo_webhooks.cli.yaml.errors import InputError

    kinds = _kinds(arguments.kind)
    flags.need_cluster(arguments, "compare with a cluster's definitions", ("kubeconfig", "context"))
    try:
        bundle = _bundle(arguments.ca_bundle) if arguments.ca_bundle else b""
    except InputError as error:
        say(f"dynamo-webhooks crds: --ca-bundle {error}")
        return UNREADABLE
    conversion = _conversion(arguments, bundle)
    if arguments.cluster:
        from dynamo_webhooks.cli.schema.live import compared

        compared_with = compared(lambda line: definitions(kinds, conversion, line), arguments)
        if compared_with.code:
            for line in compared_with.told:
                say(line)
            return compared_with.code
        crds = compared_with.crds
    else:
        crds = definitions(kinds, conversion, arguments.line or INSTALLED)
    if arguments.output == "json":
        write(json_text(crds[0] if len(crds) == 1 else {"apiVersion": "v1", "kind": "List", "items": crds}))
    else:
        write("---\n".join(yaml_text(crd) for crd in crds))
    return OK


def definitions(kinds: Iterable[str], conversion: Mapping[str, Any], line: Line = INSTALLED) -> list[dict[str, Any]]:
    """The definitions of the kinds, in the given order, as this release writes them for a line. Raises KeyError for an unknown kind."""
    from dynamo_webhooks.api.crd_manifest import manifest
    from dynamo_webhooks.cli.commands.version import installed

    return [manifest(kind, conversion, f"dynamo-webhooks {installed()}", line) for kind in kinds]


def _kinds(words: list[str]) -> list[str]:
    """The kinds that the words name, all without words; each once, and in the same order however they are given."""
    from dynamo_webhooks.api.kinds import KINDS
    from dynamo_webhooks.cli.kinds import kind_named

    named = {kind_named(word) for word in words}
    return [kind.name for kind in KINDS if not named or kind.name in named]


def _conversion(arguments: argparse.Namespace, bundle: bytes) -> Mapping[str, Any]:
    from dynamo_webhooks.api.crd_manifest import NAMESPACE, SERVICE, by_service, by_url
    from dynamo_webhooks.cli.exits import UsageError

    if arguments.url is None:
        namespace = NAMESPACE if arguments.namespace is None else arguments.namespace
        service = SERVICE if arguments.service is None else arguments.service
        _must_be_a_name("--namespace", namespace)
        _must_be_a_name("--service", service)
        return by_service(namespace, service, bundle)
    for flag, value in (("--namespace", arguments.namespace), ("--service", arguments.service)):
        if value is not None:
            raise UsageError(f"--url names a server outside the cluster, {flag} one inside: use one of them")
    return by_url(_url(arguments.url), bundle)


def _must_be_a_name(flag: str, name: str) -> None:
    """Raises UsageError for what no namespace or service can be called."""
    import re

    from dynamo_webhooks.cli.exits import UsageError

    begin = "a letter" if flag == "--service" else "a letter or digit"
    first = "[a-z]" if flag == "--service" else "[a-z0-9]"
    if not re.fullmatch(f"{first}([-a-z0-9]{{0,61}}[a-z0-9])?", name):
        raise UsageError(
            f"{flag} must be at most 63 of a-z, 0-9 and -, begin with {begin} and end with a letter or digit, got {name[:80]!r}"
        )


def _url(text: str) -> str:
    """The URL as the API server takes it, with our path when it has none.

    Raises: UsageError for another one; it is not quoted, since it may hold a password.
    """
    from urllib.parse import urlsplit

    from dynamo_webhooks.api.crd_manifest import CONVERT
    from dynamo_webhooks.cli.exits import UsageError

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
    """The certificates of a file, each as PEM and nothing between them.

    Raises: InputError for a file that can't be read or holds something else; a private key is not quoted and never printed.
    """
    import re
    from ssl import PROTOCOL_TLS_CLIENT, SSLContext, SSLError

    from dynamo_webhooks.cli.files import load_text
    from dynamo_webhooks.cli.yaml.errors import InputError

    text = load_text(file)
    if "PRIVATE KEY" in text:
        raise InputError("holds a private key; name a file of certificates alone", file)
    found = re.findall(r"-----BEGIN CERTIFICATE-----\s.*?-----END CERTIFICATE-----", text, re.DOTALL)
    bundle = "".join(f"{block}\n" for block in found)
    if not found or text.count("-----BEGIN ") != len(found):
        raise InputError("must hold certificates as PEM and nothing else", file)
    try:
        SSLContext(PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=bundle)
    except (SSLError, ValueError):
        raise InputError("holds a certificate that can't be read", file) from None
    return bundle.encode()
