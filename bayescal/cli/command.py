"""The steps that all commands share: check the outputs, compute, save, show; their options and pages of help."""

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from bayescal import _render
from bayescal.cli.keywords import defaults_of
from bayescal.cli.words import console, one_clear_message, say_saved

if TYPE_CHECKING:
    from bayescal._arrays import Console
    from bayescal._render import Sheet

NO_WORDS: Mapping[str, str] = MappingProxyType({})


class Result(ABC):
    """The result of a command: it can be saved and shown."""

    @property
    def exit_code(self) -> int:
        """Exit code of the program."""
        return 0

    @abstractmethod
    def contents(self) -> Mapping[str, Callable[[], Any]]:
        """For each output that the command can write, a function that makes its content; see `outputs.save`."""

    #: Words of the library in printed texts, and those of the command line.
    words: ClassVar[Mapping[str, str]] = NO_WORDS

    def sheets(self, width: int) -> Sequence["Sheet"]:
        """Return what is printed on a screen of this width."""
        return ()

    def show(self, screen: "Console", *, details: bool = False) -> None:
        """Print headlines, tables and remarks; with `details` also notes and specifications."""
        for sheet in self.sheets(screen.width):
            show_sheet(screen, sheet, self.words, details=details)


def show_sheet(screen: "Console", sheet: "Sheet", words: Mapping[str, str] = NO_WORDS, *, details: bool) -> None:
    """Print a headline, a table and remarks; with `details` also notes and the specification."""
    in_words = functools.partial(_in_words, words)
    if head := "\n".join(line for line in (in_words(sheet.headline), sheet.question) if line):
        screen.print("\n" + head)
    if sheet.header:
        screen.print(_render.table(sheet, screen.width), crop=False)
    for lines in (sheet.remarks, sheet.notes if details else ()):
        for line in lines:
            screen.print(in_words(line))
        if lines:
            screen.print()
    if not sheet.header and not sheet.remarks:
        screen.print()
    if details and sheet.spec:
        screen.print(sheet.spec + "\n", soft_wrap=True)  # one line, which can be copied


def _in_words(words: Mapping[str, str], text: str) -> str:
    """Replace the words of the library by those of the commands."""
    for of_library, of_commands in words.items():
        text = text.replace(of_library, of_commands)
    return text


@dataclass(frozen=True)
class Job:
    """The parts in which commands differ; `compute` reads the inputs and computes the result."""

    compute: Callable[[], Result]
    outputs: Mapping[str, Path]  # files to write, by option ("json", "output", "html", "latex", "plot", "netcdf")
    inputs: Sequence[Path] = ()  # files that no output may overwrite
    details: bool = False  # whether to print also notes and specifications

    def run(self) -> int:
        """Check the outputs, compute, save and then show; return the exit code."""
        from bayescal.cli import outputs

        to_save = outputs.check(self.outputs, besides=self.inputs)
        result = self.compute()
        outputs.save(to_save, result.contents())
        screen = console()
        result.show(screen, details=self.details)
        say_saved(screen, *self.outputs.values())
        return result.exit_code


@dataclass(frozen=True)
class Command:
    """A command of the program, with the name and the docstring of its function.

    Its examples are a part of the file ``examples.txt`` in the folder of the function.
    """

    function: Callable[..., Job]
    defaults: str = ""  # module and name of the function of the library whose defaults the help shows
    besides: tuple[str, ...] = ()  # keywords of this function that mean something else than the option of the same name

    @property
    def examples(self) -> str | None:
        """Text below the options: comments, and command lines as they are typed; None if there is no file."""
        file = Path(inspect.getfile(self.function)).with_name("examples.txt")
        name = self.function.__name__.replace("_", "-")
        for part in file.read_text(encoding="utf-8").split("\n\n") if file.is_file() else ():
            head, *lines = part.splitlines()
            if head == f"[{name}]":
                shown = (f"[dim]{line[2:]}[/]" if line.startswith("# ") else f"  {line}" for line in lines)
                return "\n".join(("\b\n[bold]Examples[/]", *shown)) + "\n"
        return None


def command(function: Callable[..., Job]) -> Callable[..., None]:
    """Make a typer command of a function that returns a `Job`; the docstring of the function is the page of help.

    A parameter that is annotated with a record of options, a dataclass, becomes one option for each field of the
    record. The program ends with the exit code of the job; invalid input gives one message on stderr and code 2.

    >>> from bayescal.cli.options import option
    >>> @dataclass(frozen=True)
    ... class ModelOptions:
    ...     draws: int = option("Model", "NUMBER", "Posterior draws.", default=4000)
    >>> def report(file: Path, model: ModelOptions) -> Job: ...
    >>> list(inspect.signature(command(report)).parameters)
    ['file', 'draws']
    """
    parameters = _expanded(function)

    @functools.wraps(function)
    def run(**values: Any) -> None:
        with one_clear_message():
            raise typer.Exit(function(**_grouped(function, values)).run())

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads the signature
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _expanded(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function, with the fields of each record in place of the record."""
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    parameters = []
    for name, kind in _annotations(function).items():
        if options := _options(kind):
            hints = get_type_hints(kind, include_extras=True)
            for each in options:
                of_typer = each.metadata.get("typer")
                kind_of_value = Annotated[hints[each.name], of_typer] if of_typer else hints[each.name]
                parameters.append(_keyword(each.name, each.default, kind_of_value))
        else:
            parameters.append(_keyword(name, defaults[name], kind))
    return parameters


def _grouped(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function: values of options, grouped into records."""
    arguments = {}
    for name, kind in _annotations(function).items():
        options = _options(kind)
        arguments[name] = kind(**{each.name: values[each.name] for each in options}) if options else values[name]
    return arguments


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    hints = get_type_hints(function, include_extras=True)
    return {name: hints[name] for name in inspect.signature(function).parameters}


def _options(kind: Any) -> tuple[Field[Any], ...]:
    """Return the fields of a record of options; nothing for any other type."""
    return fields(kind) if is_dataclass(kind) else ()


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


#: The exception that typer raises for an invalid command line; it comes from click or from typer's own copy of click.
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """The group of all commands. Error messages about arguments are shortened and their control characters escaped."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments as `TyperGroup` does."""
        with self._clear_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command as `TyperGroup` does."""
        with self._clear_usage_errors():
            return super().invoke(ctx)

    @contextmanager
    def _clear_usage_errors(self) -> Iterator[None]:
        """Escape messages, and name the commands that have an unknown option."""
        try:
            yield
        except UsageError as problem:
            problem.message = _render.printed(problem.message)
            if option := getattr(problem, "option_name", ""):
                have = [name for name, each in self.commands.items() if any(option in of.opts for of in _shown(each))]
                named = " and ".join(f"`bayescal {name}`" for name in have[:2])
                problem.message += f"; {named} {'has' if len(have) == 1 else 'have'} it" * bool(have)
            raise


def _shown(command: Any) -> list[Any]:
    return [each for each in command.params if not getattr(each, "hidden", False)]


class OneValueEach(TyperCommand):
    """A command that refuses a second value of an option that takes one, instead of using the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Count the occurrences of each option, then parse the arguments as `TyperCommand` does."""
        if args and not ctx.resilient_parsing:
            _, _, options = self.make_parser(ctx).parse_args(args=list(args))
            for option in dict.fromkeys(options):
                times = options.count(option)
                if times > 1 and isinstance(option, TyperOption) and not (option.multiple or option.is_flag):
                    ctx.fail(f"{option.opts[0]} takes one value and was given {times} times.")
        return super().parse_args(ctx, args)


class HelpWithDefaults(OneValueEach):
    """Help with the defaults of a function of the library, which is imported only when this help is shown."""

    #: Module and name of the function.
    function: ClassVar[str]
    #: Keywords of the function that mean something else than the option of the same name.
    besides: ClassVar[tuple[str, ...]]

    def defaults(self) -> dict[str, Any]:
        """Return the default of each keyword."""
        module, name = self.function.rsplit(".", 1)
        every = defaults_of(getattr(import_module(module), name))
        return {keyword: value for keyword, value in every.items() if keyword not in self.besides}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page as typer does, with defaults and choices of the library filled in."""
        from bayescal.analyses.one import MODELS
        from bayescal.estimands.registry import registered

        comparable = [name for name, each in registered().items() if each.better and each.coordinate is None]
        choices = {"model": [*MODELS], "estimand": comparable}
        defaults, shown = self.defaults(), copy(self)
        shown.params = [copy(param) for param in self.params]  # a later call in this process needs the others
        for param in shown.params:
            if isinstance(param, TyperOption) and param.name in choices:
                param.help = f"{param.help} One of: {', '.join(choices[param.name])}."
            default = defaults.get(param.name)
            if default is not None:
                param.default = default
        super(HelpWithDefaults, shown).format_help(ctx, formatter)


def help_of(function: str, besides: tuple[str, ...] = ()) -> type[OneValueEach]:
    """Return the class of a command whose help has the defaults of a function; `OneValueEach` without a function."""
    if not function:
        return OneValueEach
    return type("Help", (HelpWithDefaults,), {"function": function, "besides": besides})
