"""Draw the graphs of the PyMC models that `bayescal.pymc_model` writes, for the pages that explain them: part of
`make pictures`.

An arrow leads from a variable to each variable whose distribution or value it determines. With --quick, two models
are drawn, and nothing is written.
"""

import argparse
import io
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as MplPath
from pymc.model_graph import ModelGraph, NodeType, random_variable_symbol

import bayescal as bc

FOLDER = Path(__file__).resolve().parents[1] / "_static" / "models"
QUICK = ("dirichlet", "recalibration")
FACE = {NodeType.FREE_RV: "#CFE3F2", NodeType.OBSERVED_RV: "#D9D9D9", NodeType.DETERMINISTIC: "white"}
OTHER = "#FBE3D2"
HEIGHT, STEP_Y, GAP = 0.72, 1.15, 0.25
#: Width of a box per character of its longest line, and the smallest width.
PER_CHARACTER, LEAST_WIDTH = 0.15, 1.2
SWEEPS = 8
#: Width of the place at which an arrow passes a layer.
PASSAGE = 0.2


def evaluated(**options: Any) -> bc.Evaluation:
    """Evaluate a classifier in four bins."""
    digits = bc.datasets.load_digits()
    return bc.evaluate(digits.y_true, digits.y_prob["naive_bayes"], bins=4, rng=1, **options)


def cancer() -> tuple[Any, Any]:
    """Return labels and probabilities of a classifier of two classes."""
    data = bc.datasets.load_breast_cancer()
    return data.y_true, data.y_prob["naive_bayes"]


def in_groups() -> bc.GroupedEvaluation:
    """Evaluate five groups of rows with partial pooling."""
    y, p = cancer()
    return bc.evaluate(y, p, bins=4, by=np.arange(len(y)) % 5, pooling="partial", rng=1)


MODELS: dict[str, Callable[[], pm.Model]] = {
    "dirichlet": lambda: bc.pymc_model(evaluated(model="dirichlet")),
    "dense": lambda: bc.pymc_model(evaluated(sub_models=["logistic_dense"])),
    "recalibration": lambda: bc.pymc_model(bc.clinical.recalibration(*cancer(), rng=1)),
    "class_frequencies": lambda: bc.pymc_model(
        bc.shift.class_priors(*cancer(), cancer()[1][:200], using="cells", rng=1)
    ),
    "curve": lambda: bc.pymc_model(bc.clinical.calibration_curve(*cancer(), rng=1), form="smooth"),
    "groups": lambda: bc.pymc_model(in_groups(), form="own"),
    "net_benefit": lambda: bc.pymc_model(bc.decisions.net_benefit(*cancer(), thresholds=[0.1, 0.3], rng=1)),
}


def layers_of(parents: dict[str, set[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Put each variable one layer below the lowest of its parents; return the layers, and the chain of each arrow.

    A chain leads from a parent to a child through a passage in each layer between them. Layers contain these passages,
    and are ordered so that arrows rarely cross.
    """
    depth: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((of(each) for each in parents[name]), default=-1)
        return depth[name]

    layers: dict[int, list[str]] = defaultdict(list)
    for name in parents:
        layers[of(name)].append(name)
    chains = [
        [parent, *(f"{parent} in layer {i}" for i in range(depth[parent] + 1, depth[child])), child]
        for child, of_child in parents.items()
        for parent in sorted(of_child)
    ]
    above, below = defaultdict(set), defaultdict(set)
    for chain in chains:
        for i, (upper, lower) in enumerate(pairwise(chain), depth[chain[0]] + 1):
            above[lower].add(upper)
            below[upper].add(lower)
            if lower not in layers[i]:
                layers[i].append(lower)
    ordered = [layers[i] for i in sorted(layers)]
    for sweep in range(SWEEPS):
        near = above if sweep % 2 == 0 else below
        for layer in ordered if sweep % 2 == 0 else reversed(ordered):
            place = {name: i - (len(each) - 1) / 2 for each in ordered for i, name in enumerate(each)}
            layer.sort(key=lambda name: np.mean([place[each] for each in sorted(near[name])] or [place[name]]))
    return ordered, chains


def draw(model: pm.Model) -> Figure:
    """Draw a model: free variables blue, data grey, functions of other variables white."""
    graph = ModelGraph(model)
    joined = {name for edge in graph.edges() for name in edge}  # the others are constants
    nodes = {each.var.name: each for each in graph.nodes() if each.var.name in joined}
    parents: dict[str, set[str]] = {name: set() for name in model.named_vars if name in nodes}
    for child, parent in graph.edges():
        parents[child].add(parent)
    layers, chains = layers_of(parents)
    texts = {name: words(model, name, node) for name, node in nodes.items()}
    longest = max(len(line) for text in texts.values() for line in text.splitlines())
    size = np.array([max(LEAST_WIDTH, PER_CHARACTER * longest), HEIGHT])
    place, width = {}, 0.0
    for depth, layer in enumerate(layers):
        steps = np.array([GAP + (size[0] if name in nodes else PASSAGE) for name in layer])
        across = np.cumsum(steps) - steps / 2 - steps.sum() / 2
        place |= {name: np.array([x, -STEP_Y * depth]) for name, x in zip(layer, across, strict=True)}
        width = max(width, steps.sum())
    height = STEP_Y * len(layers)
    figure = Figure(figsize=(0.62 * width, 0.75 * height), layout="constrained")
    ax = figure.subplots()
    for chain in chains:
        arrow(ax, [place[name] for name in chain], upper_side(nodes[chain[-1]]))
    for name, node in nodes.items():
        box(ax, place[name], size, node, texts[name])
    ax.set(xlim=(-width / 2, width / 2), ylim=(-height + STEP_Y / 2, STEP_Y / 2), aspect="equal")
    ax.axis("off")
    return figure


def has_distribution(node: Any) -> bool:
    """Return whether a variable is an ellipse."""
    return node.node_type in (NodeType.FREE_RV, NodeType.OBSERVED_RV)


def upper_side(node: Any) -> float:
    """Distance of the upper side of a box from its middle."""
    return (0.6 if has_distribution(node) else 0.5) * HEIGHT


def words(model: pm.Model, name: str, node: Any) -> str:
    """Name, distribution and dims of a variable."""
    dims = ", ".join(model.named_vars_to_dims.get(name) or ())
    lines = [name, f"[{dims}]"] if dims else [name]
    if has_distribution(node):
        symbol = random_variable_symbol(node.var)
        lines.append("~ " + "".join(part[:1].upper() + part[1:] for part in symbol.split("_")))
    return "\n".join(lines)


def arrow(ax: Axes, places: list[np.ndarray], above: float) -> None:
    """Draw an arrow from the lower side of one box to the upper side of another one, down through the passages."""
    down, up = np.array([0, -HEIGHT / 2]), np.array([0, above])
    passages = [place + shift for place in places[1:-1] for shift in (-down, down)]
    path = MplPath([places[0] + down, *passages, places[-1] + up])
    ax.add_patch(FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=10, color="#555555", linewidth=0.8))


def box(ax: Axes, at: np.ndarray, size: np.ndarray, node: Any, text: str) -> None:
    """Draw a variable: an ellipse if it has a distribution, else a rectangle."""
    style = {"facecolor": FACE.get(node.node_type, OTHER), "edgecolor": "black", "linewidth": 0.9, "zorder": 3}
    if has_distribution(node):
        ax.add_patch(Ellipse(at, size[0], 2 * upper_side(node), **style))
    else:
        ax.add_patch(FancyBboxPatch(at - size / 2, *size, boxstyle="round,pad=0,rounding_size=0.08", **style))
    ax.text(*at, text, ha="center", va="center", fontsize=7.5, zorder=4, linespacing=1.15)


def main() -> None:
    """Draw all models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="draw two models and write nothing")
    quick = parser.parse_args().quick
    if not quick:
        FOLDER.mkdir(exist_ok=True)
    for name in QUICK if quick else MODELS:
        target = io.BytesIO() if quick else FOLDER / f"{name}.png"
        # without date and version, so that equal pictures are equal files
        draw(MODELS[name]()).savefig(target, dpi=150, bbox_inches="tight", metadata={"Software": None})


if __name__ == "__main__":
    main()
