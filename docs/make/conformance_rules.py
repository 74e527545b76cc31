"""Rules that put confidences into bins, in exact rational arithmetic: which bin contains each row.

Nothing here uses the package, numpy or floating point: a float is the rational number that its bits state, and a
rounded operation is the exact result, rounded once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

#: Bits of the significand.
BITS = {"float32": 24, "float64": 53}
#: Index of a row that a rule drops.
DROPPED = None
Index = tuple[int | None, ...]
Fractions = Sequence[Fraction]


@dataclass(frozen=True)
class Problem:
    """Rows of one binary problem, and the bins asked for.

    Parameters
    ----------
    confidence, outcome, weight : sequence of Fraction
        One value per row.
    dtype : {"float32", "float64"}
        The type in which the confidences were stated.
    binning : {"equal-width", "equal-mass", "custom"}
        How bins are asked for.
    n_bins : int
        Number of bins asked for.
    edges : sequence of Fraction
        The edges, for "custom".
    """

    confidence: Fractions
    outcome: Fractions
    weight: Fractions
    dtype: str
    binning: str
    n_bins: int
    edges: Fractions = ()


@dataclass(frozen=True)
class Binned:
    """The bin of each row (from 0; -1 and `n_bins` are bins of their own; None if dropped), and the bins' middles."""

    index: Index
    n_bins: int
    middles: tuple[Fraction, ...] = ()


def rounded(value: Fraction, bits: int = 53) -> Fraction:
    """Round to the nearest number with a significand of `bits` bits, ties to even (exponents are not limited)."""
    if value == 0:
        return value
    exponent = abs(value).numerator.bit_length() - value.denominator.bit_length() - bits
    while abs(value) >= Fraction(2) ** (exponent + bits):
        exponent += 1
    while abs(value) < Fraction(2) ** (exponent + bits - 1):
        exponent -= 1
    unit = Fraction(2) ** exponent
    return round(value / unit) * unit  # Python rounds half to even


# --- edges of M bins of equal width


def exact_edges(of: Problem) -> Fractions:
    return [Fraction(k, of.n_bins) for k in range(of.n_bins + 1)]


def divided_edges(of: Problem) -> Fractions:
    return of.edges or [rounded(edge) for edge in exact_edges(of)]


def own_edges(of: Problem) -> Fractions:
    return [rounded(edge, BITS[of.dtype]) for edge in of.edges or exact_edges(of)]


def multiplied_edges(of: Problem) -> Fractions:
    step = rounded(Fraction(1, of.n_bins))
    return [*(rounded(k * step) for k in range(of.n_bins)), Fraction(1)]


def mirrored_edges(of: Problem) -> Fractions:
    bits = BITS[of.dtype]
    step = rounded(Fraction(1, of.n_bins), bits)
    lower = [rounded(k * step, bits) for k in range((of.n_bins + 1) // 2)]
    upper = [rounded(1 - rounded(k * step, bits), bits) for k in range(of.n_bins // 2 + 1)]
    return lower + upper[::-1]


def stretched_edges(of: Problem) -> Fractions:
    end = rounded(1 + rounded(Fraction(1, 10**8)))
    step = rounded(end / of.n_bins)
    return [*(rounded(k * step) for k in range(of.n_bins)), end]


def range_edges(of: Problem) -> Fractions:
    low, high = min(of.confidence), max(of.confidence)
    width = rounded(high - low)
    return [rounded(low + rounded(rounded(width * k) / of.n_bins)) for k in range(of.n_bins)] + [high]


# --- edges of bins with nearly equal numbers of rows


def parts(of: Problem) -> list[list[int]]:
    """Cut the sorted rows into M parts whose sizes differ by at most one, larger parts first; rows that tie keep
    their order.
    """
    order = sorted(range(len(of.confidence)), key=lambda i: of.confidence[i])
    size, extra = divmod(len(order), of.n_bins)
    cut, start = [], 0
    for part in range(of.n_bins):
        end = start + size + (part < extra)
        cut.append(order[start:end])
        start = end
    return cut


def quantile_edges(of: Problem) -> Fractions:
    """Interpolate linearly between order statistics; merge equal inner edges."""
    positions = [Fraction((len(of.confidence) - 1) * k, of.n_bins) for k in range(of.n_bins + 1)]
    return _interpolated(of, positions, lambda value: value)


def rounded_quantile_edges(of: Problem) -> Fractions:
    """The same with rounded operations: shares k * (1/M), positions, and interpolation from the nearer side."""
    return _interpolated(of, [rounded((len(of.confidence) - 1) * share) for share in multiplied_edges(of)], rounded)


def merged_quantile_edges(of: Problem) -> Fractions:
    """The same without inner edges that equal the smallest or the largest confidence."""
    first, *inner, last = rounded_quantile_edges(of)
    return [first, *(edge for edge in inner if first < edge < last), last]


def percentile_edges(of: Problem) -> Fractions:
    """The same, where shares become percentages and shares again."""
    shares = [rounded(rounded(100 * share) / 100) for share in multiplied_edges(of)]
    return _interpolated(of, [rounded((len(of.confidence) - 1) * share) for share in shares], rounded)


def _interpolated(of: Problem, positions: Fractions, to_float: Callable[[Fraction], Fraction]) -> Fractions:
    values = sorted(of.confidence)
    edges = []
    for position in positions:
        below = min(int(position), len(values) - 1)
        above, part = min(below + 1, len(values) - 1), position - below
        step = to_float(values[above] - values[below])
        from_above = part >= Fraction(1, 2)
        moved = to_float(step * (to_float(1 - part) if from_above else part))
        edges.append(to_float(values[above] - moved if from_above else values[below] + moved))
    return [edges[0], *sorted(set(edges[1:-1])), edges[-1]]


def order_statistic_edges(of: Problem) -> Fractions:
    """The smallest confidence that at least the share k / M of the rows does not exceed; merge equal edges."""
    values = sorted(of.confidence)
    inner = {values[-(-len(values) * k // of.n_bins) - 1] for k in range(1, of.n_bins)}
    return [values[0], *sorted(inner), values[-1]]


def file_order_edges(of: Problem) -> Fractions:
    """Largest confidences of parts of the rows, which are not sorted; parts without rows are left out."""
    size, extra = divmod(len(of.confidence), of.n_bins)
    ends = [k * size + min(k, extra) for k in range(of.n_bins)]
    largest = {max(of.confidence[a:b]) for a, b in pairwise(ends) if a < b}
    return [Fraction(0), *sorted(largest), Fraction(2)]


def midpoint_edges(of: Problem) -> Fractions:
    """Middles between the last confidence of a part and the first of the next; merge equal edges."""
    values = sorted(of.confidence)
    fewer = parts(Problem(values, values, values, of.dtype, of.binning, min(of.n_bins, len(values))))
    ends = [(values[part[-1]], values[after[0]]) for part, after in pairwise(fewer)]
    inner = {rounded(rounded(a + b) / 2) for a, b in ends}
    return [Fraction(0), *sorted(inner - {Fraction(1)}), Fraction(1)]


# --- rules


def middles(of: Problem) -> tuple[Fraction, ...]:
    """Middles of the intended bins: exact, whatever the rounding of the edges."""
    if of.binning == "equal-mass":
        return ()
    ends = of.edges or exact_edges(of)
    return tuple((a + b) / 2 for a, b in pairwise(ends))


def between_edges(
    edges: Callable[[Problem], Fractions], side: str, first: str = "closed", last: str = "closed"
) -> Callable[[Problem], Binned]:
    """Make the rule that compares confidences with edges.

    Parameters
    ----------
    edges : callable
        From the problem to all edges, the outer ones included.
    side : {"left", "right"}
        The side on which a bin contains its edge.
    first : {"closed", "dropped", "apart"}
        Whether a confidence at the first edge is in the first bin, in no bin, or in a bin of its own.
    last : {"closed", "apart"}
        Whether a confidence at the last edge is in the last bin or in a bin of its own.
    """

    def rule(of: Problem) -> Binned:
        ends = edges(of)
        inner, n_bins = list(ends[1:-1]), len(ends) - 1
        find = bisect_right if side == "left" else bisect_left
        index: list[int | None] = [find(inner, c) for c in of.confidence]
        for i, c in enumerate(of.confidence):
            if first != "closed" and c <= ends[0]:
                index[i] = DROPPED if first == "dropped" else -1
            if last == "apart" and c >= ends[-1]:
                index[i] = n_bins
        return Binned(tuple(index), n_bins, middles(of) if edges is not range_edges else ())

    return rule


def _computed(of: Problem, quotient: Callable[[Fraction], Fraction], *, apart: bool = False) -> Binned:
    """The integer part of a quotient is the index; confidences of 1 are in the last bin, or in a bin of their own."""
    last = of.n_bins if apart else of.n_bins - 1
    index = tuple(min(int(quotient(c)), last) for c in of.confidence)
    return Binned(index, of.n_bins, middles(of))


def product_rule(of: Problem) -> Binned:
    return _computed(of, lambda c: rounded(c * of.n_bins))


def quotient_rule(of: Problem) -> Binned:
    bits = BITS[of.dtype]
    width = rounded(Fraction(1, of.n_bins), bits)
    return _computed(of, lambda c: rounded(c / width, bits), apart=True)


def percent_rule(of: Problem) -> Binned:
    width = rounded(Fraction(100, of.n_bins))
    return _computed(of, lambda c: rounded(rounded(100 * c) / width))


def split_rule(of: Problem) -> Binned:
    part_of = {row: k for k, part in enumerate(parts(of)) for row in part}
    return Binned(tuple(part_of[i] for i in range(len(part_of))), of.n_bins)


def whole_ties_rule(of: Problem) -> Binned:
    """Move each cut inside a run of ties to the nearer end of the run (the earlier one if both are as near)."""
    values = sorted(of.confidence)
    cuts, end = set(), 0
    for part in parts(of):
        end += len(part)
        if 0 < end < len(values):
            low, high = values.index(values[end]), len(values) - values[::-1].index(values[end])
            inside = values[end - 1] == values[end]
            cuts.add((low if end - low <= high - end else high) if inside else end)
    firsts = sorted(values[cut] for cut in cuts if 0 < cut < len(values))
    return Binned(tuple(bisect_right(firsts, c) for c in of.confidence), len(firsts) + 1)


@dataclass(frozen=True)
class Rule:
    """One rule of bins: how bins are asked for, its words, and its function."""

    binning: str
    words: str
    bins: Callable[[Problem], Binned]
    custom: bool = False


def _width(words: str, *arguments: str | Callable[[Problem], Fractions], custom: bool = False) -> Rule:
    return Rule("equal-width", words, between_edges(*arguments), custom)  # type: ignore[arg-type]


def _mass(words: str, *arguments: str | Callable[[Problem], Fractions]) -> Rule:
    return Rule("equal-mass", words, between_edges(*arguments))  # type: ignore[arg-type]


_LAST, _FIRST = "the last bin also contains 1", "the first bin also contains 0"
_ROUNDED = "quantiles computed in float64, as numpy.quantile(c, numpy.linspace(0, 1, M + 1)) does"
_PERCENT = "quantiles computed in float64, as numpy.percentile(c, 100 * numpy.linspace(0, 1, M + 1)) does"
_LINSPACE = "edges k * (1/M), product and quotient rounded to float64 (as numpy.linspace)"
RULES = {
    "left": _width(
        f"[a, b); {_LAST}; edges k/M, or the given ones, rounded once to float64", divided_edges, "left", custom=True
    ),
    "left-own": _width(
        f"[a, b); {_LAST}; edges rounded once to the type of the confidences", own_edges, "left", custom=True
    ),
    "left-exact": _width(f"[a, b); {_LAST}; edges are the rational numbers k/M", exact_edges, "left"),
    "left-linspace": _width(f"[a, b); {_LAST}; {_LINSPACE}", multiplied_edges, "left"),
    "left-linspace-1-apart": _width(
        f"[a, b); 1 is in a bin of its own; {_LINSPACE}", multiplied_edges, "left", "closed", "apart"
    ),
    "left-mirrored-1-apart": _width(
        "[a, b); 1 is in a bin of its own; edges k * (1/M) below the middle and 1 - (M - k) * (1/M) above, each "
        "operation rounded to the type of the confidences",
        mirrored_edges,
        "left",
        "closed",
        "apart",
    ),
    "left-stretched": _width(
        "[a, b); edges k * (1.00000001/M), each operation rounded to float64", stretched_edges, "left"
    ),
    "right": _width(
        f"(a, b]; {_FIRST}; edges k/M, or the given ones, rounded once to float64", divided_edges, "right", custom=True
    ),
    "right-own": _width(
        f"(a, b]; {_FIRST}; edges rounded once to the type of the confidences", own_edges, "right", custom=True
    ),
    "right-exact": _width(f"(a, b]; {_FIRST}; edges are the rational numbers k/M", exact_edges, "right"),
    "right-linspace": _width(f"(a, b]; {_FIRST}; {_LINSPACE}", multiplied_edges, "right"),
    "right-linspace-0-dropped": _width(
        f"(a, b]; rows with confidence 0 are in no bin; {_LINSPACE}", multiplied_edges, "right", "dropped"
    ),
    "right-linspace-0-apart": _width(
        f"(a, b]; 0 is in a bin of its own; {_LINSPACE}", multiplied_edges, "right", "apart"
    ),
    "right-range": _width(
        "(a, b]; M bins of equal width between the smallest and the largest confidence, which the first and the last "
        "bin contain",
        range_edges,
        "right",
    ),
    "floor-product": Rule(
        "equal-width", "bin floor(c * M), the product rounded to float64; 1 is in the last bin", product_rule
    ),
    "floor-quotient-1-apart": Rule(
        "equal-width",
        "bin floor(c / (1/M)), each quotient rounded to the type of the confidences; what exceeds the last bin, as 1 "
        "does, is in a bin of its own",
        quotient_rule,
    ),
    "floor-percent": Rule(
        "equal-width",
        "bin floor(100 c / (100/M)), each operation rounded to float64; 1 is in the last bin",
        percent_rule,
    ),
    "mass-split": Rule(
        "equal-mass",
        "rows sorted by confidence and cut into M parts whose sizes differ by at most one, larger parts first; tied "
        "rows keep their order and may be separated",
        split_rule,
    ),
    "mass-whole-ties": Rule(
        "equal-mass",
        "as mass-split, but a cut inside a run of tied rows moves to the nearer end of the run, the earlier one if "
        "both are as near",
        whole_ties_rule,
    ),
    "mass-midpoints": _mass(
        "(a, b]; edges midway (in float64) between the confidences beside each cut of mass-split, with at most one "
        "part per row; equal edges merged",
        midpoint_edges,
        "right",
    ),
    "mass-quantile-left": _mass(
        "[a, b); edges are the quantiles k/M, interpolated linearly between order statistics, exact; equal inner "
        "edges merged; the last bin contains the largest confidence",
        quantile_edges,
        "left",
    ),
    "mass-quantile-left-rounded": _mass(f"the same; {_ROUNDED}", rounded_quantile_edges, "left"),
    "mass-quantile-left-merged": _mass(
        f"the same, without inner edges that equal the smallest or the largest confidence; {_ROUNDED}",
        merged_quantile_edges,
        "left",
    ),
    "mass-quantile-right": _mass(
        "(a, b]; edges as mass-quantile-left; the first bin contains the smallest confidence", quantile_edges, "right"
    ),
    "mass-quantile-right-percent": _mass(f"the same; {_PERCENT}", percentile_edges, "right"),
    "mass-quantile-right-minimum-dropped": _mass(
        f"(a, b]; rows with the smallest confidence are in no bin; {_ROUNDED}",
        rounded_quantile_edges,
        "right",
        "dropped",
    ),
    "mass-quantile-right-minimum-apart": _mass(
        f"(a, b]; rows with the smallest confidence are in a bin of their own; {_PERCENT}",
        percentile_edges,
        "right",
        "apart",
    ),
    "mass-file-order": _mass(
        "(a, b]; the rows, in the order in which they are given, are cut into M parts as in mass-split; edges are the "
        "largest confidences of all parts but the last",
        file_order_edges,
        "right",
    ),
    "mass-order-statistic": _mass(
        "(a, b]; edges are the smallest confidences that at least the share k/M of the rows does not exceed; equal "
        "edges merged",
        order_statistic_edges,
        "right",
    ),
}


def rules_for(binning: str) -> list[str]:
    """Names of the rules for bins that are asked for in this way."""
    return [name for name, rule in RULES.items() if (rule.custom if binning == "custom" else rule.binning == binning)]
