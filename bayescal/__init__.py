"""bayescal: Expected Calibration Error with credible intervals."""

import lazy_loader as _lazy

from bayescal import _moved

_moved.install()

# names are imported at first use, so that `import bayescal` takes little time; __init__.pyi lists them
__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
