"""The page of the chart, whose table of values is read from its `values.yaml` with the comments."""

from collections.abc import Iterator
from typing import Final

import yaml

from tools.manual.markdown import format_table
from tools.written import ROOT

CHART: Final = ROOT / "manifests" / "chart"
_HEAD: Final = """# The chart dynamo-webhooks

It installs the webhook server, the provisioner of its certificates, and the reconciler. First build the image and push it to a registry of
yours, as [Install](../../docs/install.md#install) shows, and apply the definitions, which no chart of Helm can upgrade:

```sh
dynamo-webhooks crds --cluster | kubectl apply --server-side -f -
helm install dynamo-webhooks manifests/chart --namespace dynamo-system --create-namespace --wait \\
  --set controllerManager.manager.image.repository=registry.example.com/dynamo-webhooks
```

`helm uninstall dynamo-webhooks --namespace dynamo-system` keeps definitions and objects; read
[Uninstall](../../docs/install.md#uninstall) first.

## Values

"""


def page() -> str:
    """The page as a whole. Names of values have dots, such as `webhook.certManager.enabled`."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)  # noqa: S101 - the chart's own file
    return _HEAD + format_table("value | default | meaning", _rows(root, text.splitlines(), ())) + "\n"


def _rows(node: yaml.MappingNode, lines: list[str], above: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    for key, value in node.value:
        path, meaning = (*above, key.value), _comment(lines, key.start_mark.line)
        nested = isinstance(value, yaml.MappingNode) and value.start_mark.line > key.start_mark.line
        if not nested:
            yield f"`{'.'.join(path)}`", f"`{_written(value)}`", meaning
            continue
        if meaning:
            yield f"`{'.'.join(path)}`", "", meaning
        yield from _rows(value, lines, path)


def _written(value: yaml.Node) -> str:
    """A value as the file has it, without quotes."""
    start, end = value.start_mark, value.end_mark
    text = start.buffer[start.pointer : end.pointer] if start.buffer else ""
    return text.strip() or "null"


def _comment(lines: list[str], index: int) -> str:
    """Reads the comment behind a key, or the lines above it."""
    _, mark, behind = lines[index].partition("  #")
    if mark:
        return _cell(behind)
    texts: list[str] = []
    while index and (line := lines[index - 1].strip()).startswith("#"):
        texts.insert(0, line.removeprefix("#").strip())
        index -= 1
    return _cell(" ".join(texts))


def _cell(text: str) -> str:
    return text.strip().replace("|", "\\|")
