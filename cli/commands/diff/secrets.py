"""Masks values that may be secrets, by names and surrounding text; only the fact that they differ is shown."""

import re
from typing import Any, Final

from ....api.paths import Key, Path

HIDDEN: Final = "<hidden>"
_WORDS: Final = r"passw(?:or)?d|(?<![a-z])pwd|passphrase|secret|token(?!iz)|credential|authorization|(?:api|access|private|signing)[-_]?key"
_NAME: Final = re.compile(rf"{_WORDS}|(?:^|[-_])(?:key|pass|pat|dsn|auth)(?:$|[-_])", re.IGNORECASE)
# `--api-key=x`, `TOKEN: "x y"`, `Authorization: Bearer x`
SECRET_FLAGS: Final = re.compile(
    rf"""((?:{_WORDS}|[-_]key)[\w-]*\\?["']?(?:\s*[=:]\s*|\s+))((?:(?:bearer|basic)\s+)?(?:\\?"[^"]*"?|'[^']*'?|[^\s"',;]+))""",
    re.IGNORECASE,
)
_USER: Final = re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)")  # https://user:x@host
_HARMLESS: Final = re.compile(r"[\"']?(?:-?[0-9]{1,9}|true|false|null|\$\(?\{?\w+[)}]?)[\"']?")
_FLAG: Final = re.compile(r"[\"']?--?[A-Za-z][\w-]*(?:=.*)?", re.DOTALL)  # what follows a flag that has no value
_NAMING: Final = re.compile(r"(?:^s|S)ecrets?(?:Name|Ref)?$|^key$", re.ASCII)  # fields that name a secret, and hold none
_REFERENCES: Final = frozenset({"valueFrom", "secretKeyRef", "secretRef", "imagePullSecrets", "configMapKeyRef", "fieldRef"})


def mask_secrets(value: Any, path: Path = (), *, secret: bool = False) -> Any:
    """The value with everything hidden that its place, its name or the words around it make look like a secret."""
    if secret:
        return describe_hidden(value)
    if isinstance(value, dict):
        variable = is_secret_variable(value)
        return {
            name: describe_hidden(below) if variable and name == "value" else mask_secrets(below, (*path, name))
            for name, below in value.items()
        }
    if isinstance(value, list):
        return _list(value, path)
    return describe_hidden(value) if _is_secret_path(path) else _text(value)


def is_secret_name(name: str) -> bool:
    """Whether a name promises a secret."""
    return _NAME.search(name) is not None


def is_secret_flag(word: Any) -> bool:
    """Whether the argument behind this one is a secret: `--token`, and not `--token=x`."""
    return isinstance(word, str) and word.startswith("-") and "=" not in word and is_secret_name(word)


def is_secret_variable(item: Any) -> bool:
    """Whether an entry with a name and a value, such as one of `env`, has a name that promises a secret."""
    name = item.get("name") if isinstance(item, dict) else None
    return isinstance(name, str) and is_secret_name(name)


def describe_hidden(value: Any) -> Any:
    """Hides a text. Numbers and switches are no secrets: `maxTokens: 8192` stays readable."""
    return value if not isinstance(value, str) or not value or _HARMLESS.fullmatch(value) else HIDDEN


def _list(items: list[Any], path: Path) -> list[Any]:
    """Of arguments, what follows a flag such as `--token` is hidden too."""
    shown, follows = [], False
    for index, item in enumerate(items):
        shown.append(describe_hidden(item) if follows and not _is_flag(item) else mask_secrets(item, (*path, index)))
        follows = is_secret_flag(item)
    return shown


def _is_secret_path(path: Path) -> bool:
    """Whether names on the path indicate a secret: that of the variable, or the field's own."""
    if not path or any(step in _REFERENCES for step in path):
        return False
    last = path[-1]
    if isinstance(last, int):
        return False
    if last == "value" and len(path) > 1:
        return isinstance(path[-2], Key) and is_secret_name(path[-2])
    return is_secret_name(last) and (isinstance(last, Key) or not _NAMING.search(last))


def _is_flag(item: Any) -> bool:
    return isinstance(item, str) and _FLAG.fullmatch(item) is not None


def _text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if "PRIVATE KEY-----" in value:
        return HIDDEN
    masked = SECRET_FLAGS.sub(lambda match: match[1] + (match[2] if _HARMLESS.fullmatch(match[2]) or _is_flag(match[2]) else HIDDEN), value)
    return _USER.sub(rf"\1{HIDDEN}", masked)
