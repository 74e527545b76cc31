"""bayescal: Expected Calibration Error with credible intervals."""

import sys as _sys

import lazy_loader as _lazy


class _Former:
    """Finds modules of release 0.1.0 that moved, after all other finders; `_moved` is imported only then."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]  # `typing` is slow to import
        if not name.startswith(f"{__name__}."):
            return None
        from bayescal import _moved

        return _moved.find(name)


_sys.meta_path.append(_Former)

# names are imported at first use, so that `import bayescal` takes little time; __init__.pyi lists them
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
