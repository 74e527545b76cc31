"""bayescal: Expected Calibration Error with credible intervals."""

from bayescal._lazy import public_names as _public_names

# names are imported at first use, so that `import bayescal` takes little time; __init__.pyi lists them
__getattr__, __dir__, __all__ = _public_names(__name__, __file__)


def __reduce_ex__(protocol):  # type: ignore[no-untyped-def]  # noqa: N807  # pickle calls this name; see below
    """Pickle the package by its name: `lazy_loader` changes its type, and cloudpickle knows plain modules only."""
    from importlib import import_module

    return import_module, (__name__,)
