"""The script for bash, 3.2 and newer, without the package bash-completion; and the one by which kubectl completes its plugin."""

from collections.abc import Iterator

from ...console.program import PROGRAM
from .model import PROGRAMS, Command, Values, commands, lists

_CORE = r"""
# _dynamo_webhooks_candidates WORD...: the words behind the program, of which the last is unfinished; sets CANDIDATES and FILES
_dynamo_webhooks_candidates() {
  local command=$1 flag="" value="" prefix="" words="" after="" last="${!#}" before=""
  CANDIDATES=() FILES=""
  if (( $# < 2 )); then
    CANDIDATES=($(compgen -W "$_dynamo_webhooks_commands" -- "$last"))
    return
  fi
  (( $# > 2 )) && before="${@:$#-1:1}"
  if [[ $last == --*=* ]]; then
    flag=${last%%=*} value=${last#*=} prefix="$flag="
  elif [[ $before == -* && $before != *=* ]] && _dynamo_webhooks_takes "$command" "$before"; then
    flag=$before value=$last
  elif [[ $last == -* ]]; then
    CANDIDATES=($(compgen -W "$(_dynamo_webhooks_flags "$command")" -- "$last"))
    return
  else
    value=$last
  fi
  _dynamo_webhooks_values "$command" "$flag"
  if [[ -n $after && $value == *=* ]]; then
    prefix="$prefix${value%%=*}=" value=${value#*=} words=""
    if [[ $after == files ]]; then FILES=1; else words=$after; fi
  fi
  [[ -n $words ]] && CANDIDATES=($(compgen -P "$prefix" -W "$words" -- "$value"))
}
"""
_BASH = r"""
_dynamo_webhooks() {
  local -a CANDIDATES words=()
  local FILES="" index current strip=""
  # bash splits words at = and : if COMP_WORDBREAKS contains them; join parts without a blank between them
  for (( index = 1; index <= COMP_CWORD; index++ )); do
    current=${COMP_WORDS[index]}
    if [[ ${#words[@]} -gt 0 && ( $current == [=:]* || ${words[${#words[@]}-1]} == *[=:] ) ]]; then
      words[${#words[@]}-1]+=$current
    else
      words+=("$current")
    fi
  done
  _dynamo_webhooks_candidates "${words[@]}"
  current=${words[${#words[@]}-1]}
  if [[ $COMP_WORDBREAKS == *=* && $current == *=* ]]; then strip=${current%=*}=; fi
  COMPREPLY=("${CANDIDATES[@]#"$strip"}")
  # readline itself offers files
  if [[ -z $FILES ]]; then compopt +o default 2>/dev/null; fi
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  return 0
}
"""
_KUBECTL = r"""
_dynamo_webhooks_candidates "$@"
for candidate in "${CANDIDATES[@]}"; do printf '%s\n' "$candidate"; done
# what the shell is to do besides: 2 no blank behind the word, 4 no files
directive=4
if [[ -n $FILES ]]; then directive=0; fi
if [[ ${#CANDIDATES[@]} -eq 1 && ${CANDIDATES[0]} == *= ]]; then directive=$((directive + 2)); fi
printf ':%s\n' "$directive"
"""


def bash() -> str:
    """The script to be sourced."""
    head = f"# bash completion for {PROGRAM}; written by `{PROGRAM} completion bash`\n"
    return head + _tables() + _CORE + _BASH + f"\ncomplete -o default -F _dynamo_webhooks {' '.join(PROGRAMS)}\n"


def kubectl() -> str:
    """The program `kubectl_complete-dynamo`, which kubectl runs for `kubectl dynamo <TAB>` with the words so far."""
    advice = f"put it on the PATH and make it executable; written by `{PROGRAM} completion kubectl`"
    head = f"#!/usr/bin/env bash\n# kubectl_complete-dynamo: {advice}\n"
    return head + _tables() + _CORE + _KUBECTL


def _tables() -> str:
    known = commands()
    # the flags that a value follows
    taking = ["|".join(f'"{each.name} {name}"' for flag in each.flags if flag.values is not None for name in flag.names) for each in known]
    named = [f'_dynamo_webhooks_{name}="{" ".join(words)}"' for name, words in lists().items()]
    parts = [
        f'_dynamo_webhooks_commands="{" ".join(each.name for each in known)}"',
        *named,
        "_dynamo_webhooks_flags() {",
        "  case $1 in",
        *(f'    {each.name}) echo "{" ".join(name for flag in each.flags for name in flag.names)}" ;;' for each in known),
        "  esac",
        "}",
        "_dynamo_webhooks_takes() {",
        '  case "$1 $2" in',
        *(f"    {patterns}) return 0 ;;" for patterns in taking if patterns),
        "  esac",
        "  return 1",
        "}",
        "_dynamo_webhooks_values() {",
        '  case "$1 $2" in',
        *(line for each in known for line in _cases(each)),
        "  esac",
        "}",
    ]
    return "\n".join(parts) + "\n"


def _cases(command: Command) -> Iterator[str]:
    """What each flag of a command wants, and at the end its arguments."""
    for flag in command.flags:
        if flag.values is not None and flag.values.known:
            names = "|".join(f'"{command.name} {name}"' for name in flag.names)
            yield f"    {names}) {_set(flag.values)} ;;"
    if command.argument.known:
        yield f'    "{command.name} ") {_set(command.argument)} ;;'


def _set(values: Values) -> str:
    listed = [f"$_dynamo_webhooks_{values.list}"] if values.list else []
    words = [f'words="{" ".join([*values.words, *listed])}"'] if values.words or listed else []
    after = f"after={values.after}" if values.after == "files" else f"after=$_dynamo_webhooks_{values.after}"
    return "; ".join([*words, *(["FILES=1"] if values.files else []), *([after] if values.after else [])])
