"""Three evaluations of the same rows, axes for their plots, and the artists of axes with a gid."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import bayescal as bc

RNG = np.random.default_rng(7)
N = 1500
P = RNG.random(N)
Y = (RNG.random(N) < P).astype(int)


def evaluation(power=1.0, **options):
    return bc.evaluate(Y, P**power, **{"rng": 1, "draws": 200, "bins": 10, **options})


FIRST, SECOND, THIRD = evaluation(), evaluation(1.5), evaluation(0.5)


def axes(size=(5.6, 6.4), layout="constrained"):
    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure.subplots()


def of(ax, gid):
    return [each for each in ax.get_children() if each.get_gid() == gid]
