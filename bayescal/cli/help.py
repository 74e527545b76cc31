"""Pages of help and messages about options: defaults are those of the library's functions, names are escaped."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from bayescal import _render
from bayescal.cli.keywords import defaults_of

#: The exception that typer raises for an invalid command line; it comes from click or from typer's own copy of click.
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """The group of all commands. Error messages about arguments are shortened and their control characters escaped."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments as `TyperGroup` does."""
        with _escaped_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command as `TyperGroup` does."""
        with _escaped_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _escaped_usage_errors() -> Iterator[None]:
    try:
        yield
    except UsageError as problem:
        problem.message = _render.printed(problem.message)
        raise


class OneValueEach(TyperCommand):
    """A command that refuses a second value of an option that takes one, instead of using the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Count the occurrences of each option, then parse the arguments as `TyperCommand` does."""
        if args and not ctx.resilient_parsing:
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for option in dict.fromkeys(given):
                times = given.count(option)
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
