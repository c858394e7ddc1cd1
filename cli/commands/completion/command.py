"""The command `completion`: a script by which a shell asks this program what can come at the end of a command line."""

from typing import Annotated, Final, NamedTuple

from ...console.exits import OK
from ...console.options import argument
from ...console.output import write_document

HELP: Final = "print a completion script for a shell, or for kubectl's plugin"
_BASH: Final = r"""# bash completion for dynamo-webhooks; written by `dynamo-webhooks completion bash`
_dynamo_webhooks() {
  local -a words=()
  local index current answer strip="" IFS=$'\n'
  # bash splits words at = and : if COMP_WORDBREAKS contains them; join parts without a blank between them
  for (( index = 1; index <= COMP_CWORD; index++ )); do
    current=${COMP_WORDS[index]}
    if [[ ${#words[@]} -gt 0 && ( $current == [=:]* || ${words[${#words[@]}-1]} == *[=:] ) ]]; then
      words[${#words[@]}-1]+=$current
    else
      words+=("$current")
    fi
  done
  current=${words[${#words[@]}-1]}
  answer=$("${COMP_WORDS[0]}" completion bash -- "${words[@]}" 2>/dev/null) || return 0
  if [[ $COMP_WORDBREAKS == *=* && $current == *=* ]]; then strip=${current%=*}=; fi
  COMPREPLY=(${answer%:*})
  COMPREPLY=("${COMPREPLY[@]#"$strip"}")
  # readline itself offers files
  if (( ${answer##*:} & 4 )); then compopt +o default 2>/dev/null; fi
  if (( ${answer##*:} & 2 )); then compopt -o nospace 2>/dev/null; fi
  return 0
}

complete -o default -F _dynamo_webhooks dynamo-webhooks kubectl-dynamo
"""
_ZSH: Final = r"""#compdef dynamo-webhooks kubectl-dynamo
# zsh completion for dynamo-webhooks; written by `dynamo-webhooks completion zsh`
_dynamo_webhooks() {
  local -a answer found suffix
  answer=("${(@f)$("$words[1]" completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n $answer ]] || return 1
  local directive=${answer[-1]#:}
  found=("${(@)answer[1,-2]//$'\t'/:}")
  if (( directive & 2 )); then suffix=(-S ''); fi
  if (( $#found )); then _describe -t words word found "${(@)suffix}"; fi
  if (( ! (directive & 4) )); then compset -P '*='; _files; fi
}

if [[ $funcstack[1] == _dynamo_webhooks ]]; then
  _dynamo_webhooks "$@"
else
  compdef _dynamo_webhooks dynamo-webhooks kubectl-dynamo
fi
"""
_FISH: Final = r"""# fish completion for dynamo-webhooks; written by `dynamo-webhooks completion fish`
function __dynamo_webhooks_candidates
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l answer ($program completion fish -- $words "$last" 2>/dev/null)
    or return
    set -l directive (string sub -s 2 -- $answer[-1])
    set -e answer[-1]
    printf '%s\n' $answer
    if test "$directive" -lt 4
        set -l begin (string match -r '.*=' -- "$last")
        for path in (__fish_complete_path (string replace -r '.*=' '' -- "$last"))
            echo "$begin$path"
        end
    end
end
complete -c dynamo-webhooks -f -a '(__dynamo_webhooks_candidates)'
complete -c kubectl-dynamo -w dynamo-webhooks
"""
# the program that kubectl runs for `kubectl dynamo <TAB>`, with the words so far
_KUBECTL: Final = """#!/bin/sh
# kubectl_complete-dynamo: put it on the PATH and make it executable; written by `dynamo-webhooks completion kubectl`
exec kubectl-dynamo completion kubectl -- "$@"
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "kubectl": _KUBECTL}
LITERAL: Final = "words"
EPILOG: Final = "kubectl: for `kubectl dynamo`; store it on the PATH as kubectl_complete-dynamo, executable"


class Options(NamedTuple):
    """The shell, and the words that its script gives."""

    shell: Annotated[str, argument("the shell", choices=tuple(SCRIPTS))]
    words: tuple[str, ...] = ()


def run(options: Options) -> int:
    """Prints the script, the same for every machine; for a script with words the candidates, a line each, as kubectl takes them."""
    if not options.words:
        write_document(SCRIPTS[options.shell])
        return OK
    from .candidates import find_candidates

    candidates, files = find_candidates(options.words)
    helps = options.shell in ("zsh", "fish")
    lines = [f"{word}\t{text}" if helps and text else word for word, text in candidates.items()]
    # what the shell is to do besides: 2 no blank behind the word, 4 no files
    directive = 4 * (not files) + 2 * (len(candidates) == 1 and next(iter(candidates)).endswith("="))
    write_document("".join(f"{line}\n" for line in (*lines, f":{directive}")))
    return OK
