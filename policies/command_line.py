"""The words of a container's call, and the model that they name."""

import shlex
from typing import Final

from .review import Fields

_MODEL_FLAGS: Final = ("--served-model-name", "--model-name", "--model", "--model-path")  # the first that is there names the model


def split_words(container: Fields) -> list[str]:
    """The words of a container's call, also of those that are a shell's script."""
    return [word for part in ("command", "args") for text in container.get(part) or () for word in _split(str(text))]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote without its partner
        return text.split()


def find_value(words: list[str], flag: str) -> str:
    """The value of a flag; empty without one."""
    for index, word in enumerate(words):
        if word == flag:
            return words[index + 1] if index + 1 < len(words) else ""
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return ""


def find_model(words: list[str]) -> str:
    """The model that a call serves, as it is written; empty if it names none."""
    return next((value for flag in _MODEL_FLAGS if (value := find_value(words, flag))), "")
