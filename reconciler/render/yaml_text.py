"""Values as YAML: the same text each time."""

from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Writes plain data without anchors, which readers may not support."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class asks for each value
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # a string that would be read as another type is in double quotes, as in Go
    plain = dumper.resolve(yaml.ScalarNode, text, (True, False)) == "tag:yaml.org,2002:str"  # type: ignore[no-untyped-call]  # PyYAML's stubs leave it out
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain and text else '"')


_Dumper.add_representer(str, _text)


def format_yaml(value: Any) -> str:
    """A value as YAML in block style, with sorted keys and unwrapped lines."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=2**31))
