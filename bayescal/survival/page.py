"""Pictures of the results of this folder."""

from bayescal.report.plot import drawn_by_type
from bayescal.survival.plot import plot_horizons
from bayescal.survival.result import SurvivalHorizons

drawn_by_type.register(SurvivalHorizons, plot_horizons)
