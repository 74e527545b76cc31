"""Types for annotations: arrays, and types of packages that are imported only where they are needed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Ints = NDArray[np.int64]
Generator = np.random.Generator
Classes = Sequence[Any] | None  # labels of classes, if they are given

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd
    import pymc as pm
    import xarray as xr
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Bbox
    from mpl_toolkits.axes_grid1.axes_divider import AxesDivider
    from rich.console import Console
    from rich.table import Table
    from scipy.sparse import csr_array
else:  # annotations with these names are strings, and are not evaluated
    az = pd = pm = xr = "a package that is imported where it is needed"
    Axes = AxesDivider = Bbox = Console = Figure = Line2D = Markup = SubFigure = Table = csr_array = az
