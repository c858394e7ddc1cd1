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

Every process takes the same file by `--config FILE`: an OperatorConfiguration, YAML or JSON, the format that the Go operator reads.
Flags win over environment variables, these over the file, the file over defaults. `dynamo-webhooks config --config FILE` prints what
is in effect and where each value came from; it ends with 2 and the whole list when something is wrong, as every process does at its start.
`serve` without `--config` is for one machine: it listens as its flags say, and reads no environment variable.

- Unknown keys and values of the wrong type stop the start, with line, key, what was seen, and what is allowed. The Go operator passes
  over them in silence. A file of the Go operator that says only what the Go operator knows is accepted.
- `null` means absent, and so does an empty text where there is a default, but for the two `bindAddress`. Durations are texts such as
  `30s`, `15m`, `1h30m`; days (`30d`) are read too, but not by the Go operator.
- The smallest file for a whole cluster names the three roles of `rbac` and the two of `mpi`; with `namespace.restricted`, only `mpi`.
- The Go operator ends when a feature that is set to `true` is not served by the cluster. This server says so in its log and serves on:
  conversion must not depend on it.

## Keys

| key | default | must be | what it does |
| --- | --- | --- | --- |
"""
_ENVIRONMENT: Final = """
## Environment variables

An empty variable is as good as none. Without `POD_NAMESPACE` the namespace is read from the service account's files.

| variable | key | what it says |
| --- | --- | --- |
"""


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
        mark = " (ours)" if key[0] in OWN or key[-1] in _OURS else ""
        rows.append(f"| `{'.'.join(key)}`{mark} | {default} | {allowed_at(key)} | {field.description} |")
    variables = [f"| `{each.name}` | `{'.'.join(each.key)}` | {each.means} |" for each in VARIABLES]
    return _HEAD + "\n".join(rows) + "\n" + _ENVIRONMENT + "\n".join(variables) + "\n"
