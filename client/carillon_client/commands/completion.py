"""Completion of commands and options by a shell."""

import argparse
from collections.abc import Mapping

_BASH = """\
_carillon() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} command= one
    for one in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $one == -* ]] || {{ command=$one; break; }}
    done
    case $command in
{cases}
    esac
}}
complete -o default -F _carillon carillon
"""
_CASE = '        {}) COMPREPLY=($(compgen -W "{}" -- "$word")) ;;'
SHELLS = ("bash", "zsh", "fish")


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    helps = {choice.dest: str(choice.help) for choice in commands._choices_actions}
    return _fish(commands.choices, helps) if shell == "fish" else _bash(commands.choices, shell)


def _bash(commands: Mapping[str, argparse.ArgumentParser], shell: str) -> str:
    cases = [_CASE.format("''", " ".join([*commands, "--version", "--help"]))]
    for name, parser in commands.items():
        cases.append(_CASE.format(name, " ".join([*_commands(parser), *_options(parser)])))
    head = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return head + _BASH.format(cases="\n".join(cases))


def _fish(commands: Mapping[str, argparse.ArgumentParser], helps: Mapping[str, str]) -> str:
    lines = ["complete -c carillon -n __fish_use_subcommand -l version"]
    for name, parser in commands.items():
        lines.append(f"complete -c carillon -f -n __fish_use_subcommand -a {name} -d {_quoted(helps[name])}")
        if within := " ".join(_commands(parser)):
            lines.append(f"complete -c carillon -f -n '__fish_seen_subcommand_from {name}' -a '{within}'")
        lines += [
            f"complete -c carillon -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}"
            for option in _options(parser)
        ]
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> list[str]:
    """Those within a command."""
    result = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [name for choices in result for name in choices]


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [text for action in parser._actions for text in action.option_strings if text.startswith("--")]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
