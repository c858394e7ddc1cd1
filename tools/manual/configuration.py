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

All processes read the same file with `--config FILE`: an OperatorConfiguration in YAML or JSON, as the Go operator reads it. Flags
override environment variables, which override the file. `dynamo-webhooks config --config FILE` prints the effective values and their
sources; like every process at its start, it exits with 2 and lists all errors. `serve` without `--config` uses its flags only.

- Unknown keys and values of the wrong type are errors; the Go operator ignores them. A valid file of the Go operator is accepted.
- `null` means absent, and so does an empty string for a key with a default, except for the two `bindAddress`. Durations are strings such
  as `30s`, `15m`, `1h30m`; days (`30d`) are accepted too, but not by the Go operator.
- The smallest file for a whole cluster names the three roles of `rbac` and the two of `mpi`; with `namespace.restricted`, only `mpi`.
- If the cluster doesn't serve a feature that is set to `true`, the server logs it and goes on; the Go operator exits.

## Keys

| key | default | must be | what it does |
| --- | --- | --- | --- |
"""
_ENVIRONMENT: Final = """
## Environment variables

An empty variable counts as unset. Without `POD_NAMESPACE` the namespace is read from the service account's files.

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
