"""bayescal: Expected Calibration Error with credible intervals."""

import lazy_loader as _lazy

# names are imported at first use, so that `import bayescal` takes little time; __init__.pyi lists them
_attribute, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)


def __reduce_ex__(protocol):  # type: ignore[no-untyped-def]  # noqa: N807  # pickle calls this name; see below
    """Pickle the package by its name: `lazy_loader` changes its type, and cloudpickle knows plain modules only."""
    from importlib import import_module

    return import_module, (__name__,)


def __getattr__(name):  # type: ignore[no-untyped-def]  # `typing` is slow to import
    """Import a public name; the message for an unknown one says what may be meant."""
    try:
        return _attribute(name)
    except AttributeError as problem:
        from importlib import import_module
        from importlib.util import find_spec

        if name.startswith("_") or find_spec(f"{__name__}.{name}") is not None:
            raise  # a module is imported after this error
        from bayescal._meant import of_module

        of_estimand = import_module("bayescal.estimands.names").hint(name, "bayescal.evaluate(y_true, y_prob).{}")
        instead = of_estimand or of_module(name, __all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{instead}") from problem
