"""Writes docs/configuration.md: every key of the OperatorConfiguration and every environment variable, from the models themselves."""

from __future__ import annotations

from typing import Final

import orjson

from dynamo_webhooks.api.operator.configuration import OWN, allowed_at, leaves
from dynamo_webhooks.api.operator.judge import judge
from dynamo_webhooks.api.paths import MISSING, lookup
from dynamo_webhooks.cli.configuration import VARIABLES

# keys of ours in sections that the Go operator knows
_OURS: Final = ("allowed", "grace", "maxSkew", "metricsEndpointTemplate", "namespaceLabel", "clientCA", "clientNames")
_HEAD: Final = """\
<!-- written by `make docs` (tools/pages.py) from api/operator; edit that, not this file -->

# Configuration

This page lists all keys of the OperatorConfiguration, a YAML or JSON file that all processes read with `--config FILE`. A valid file of the
Go operator is accepted. Flags override environment variables, which override the file. `dynamo-webhooks config --config FILE` prints the
effective values and their sources, or lists all errors and exits with 2, like every process at its start. `serve` without `--config` uses
only its flags.

- Unknown keys and values of the wrong type are errors; the Go operator ignores them. With `--lenient-config`, unknown keys are warned of,
  each once, and passed over: use it for a file of a newer operator.
- `null` means absent, and so does an empty string for a key with a default, except for the two `bindAddress`.
- Durations are strings such as `30s`, `15m`, `1h30m`; days (`30d`) too, unlike in the Go operator. Sizes are strings such as `64Ki` or
  `2Gi`.
- DNS labels have at most 63 lower-case letters, digits and inner hyphens, DNS names at most 253, with dots.
- Switches without a default are detected. If the cluster doesn't serve a feature that is set to `true`, the server logs it and continues;
  the Go operator exits.
- The smallest file for a whole cluster sets the three keys of `rbac` and the two of `mpi`; with `namespace.restricted`, only `mpi`.

## Keys

The Go operator doesn't have the keys marked +.

| key | default | value | effect |
| --- | --- | --- | --- |
"""
_ENVIRONMENT: Final = """
## Environment variables

An empty variable counts as unset. `DYN_OPERATOR_ALLOW_GMS_SNAPSHOT` is true only if it is `1`. Without `POD_NAMESPACE` the namespace is
read from the service account's files.

| variable | key |
| --- | --- |
"""
# what the page says once, above the table
_SHORT: Final = {
    " of at most 63 lower-case letters, digits and inner hyphens": "",
    " of at most 253 lower-case letters, digits, hyphens and dots": "",
    " such as 30s, 15m or 4h": "",
    " such as 65536, 64Ki, 7Mi or 1Gi": "",
    " such as 64Mi or 2Gi, or absent": "",
    "true, false, or absent for automatic detection": "true or false",
}


def configuration_page() -> str:
    """The whole page; keys in the order of the models, ours marked."""
    defaults = judge({}, complete=False)[0].model_dump()
    shown = judge({"serviceMesh": {"provider": "istio"}}, complete=False)[0].model_dump()
    rows = []
    for key, field in leaves():
        value = lookup(defaults, key)
        if value is MISSING:
            value = lookup(shown, key)
        default = "" if value in ("", None, []) else f"`{orjson.dumps(value).decode()}`"
        mark = " +" if key[0] in OWN or key[-1] in _OURS else ""
        rows.append(f"| `{'.'.join(key)}`{mark} | {default} | {_short(allowed_at(key))} | {field.description} |")
    variables = [f"| `{each.name}` | `{'.'.join(each.key)}` |" for each in VARIABLES]
    return _HEAD + "\n".join(rows) + "\n" + _ENVIRONMENT + "\n".join(variables) + "\n"


def _short(text: str) -> str:
    for long, short in _SHORT.items():
        text = text.replace(long, short)
    return text.removeprefix("a ").removeprefix("an ")
