"""Options -> keywords of the library's functions: defaults are the functions', text becomes values."""

import csv
import inspect
import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from bayescal.cli.options import Options, given_in

if TYPE_CHECKING:
    from bayescal.stats.contract import Counts


def defaults_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the defaults of the keywords of a function, so that options have those that the library documents."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty}


def keywords_of(function: Callable[..., Any], *records: Options) -> dict[str, Any]:
    """Return the keywords of a function of the library; its defaults stand for options that were not given."""
    values = given_in(*records)
    if "seed" in values:
        values["rng"] = values.pop("seed")
    parsed = {name: PARSERS[name](value) if name in PARSERS else value for name, value in values.items()}
    return defaults_of(function) | parsed


def model_keywords(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords of `evaluate_counts` among those of `evaluate`."""
    return {name: keywords[name] for name in ("model", "sub_models", "draws", "rng") if name in keywords}


def settings(counts: "Counts", keywords: Mapping[str, Any], bins: Any) -> dict[str, Any]:
    """Return the target, bins, model, draws and seed of an evaluation, as JSON documents hold them."""
    return {
        "target": counts.target, "bins": bins, "binning": counts.bins.kind, "model": keywords["model"],
        **({"sub_models": keywords["sub_models"]} if "sub_models" in keywords else {}),
        "draws": keywords["draws"], "seed": keywords["rng"],
    }  # fmt: skip


def parse_bins(text: str) -> int | list[float]:
    """Return a number of bins, or edges that are separated by commas."""
    try:
        return [float(edge) for edge in text.split(",")] if "," in text else int(text)
    except ValueError:
        raise ValueError(f"`bins` must be a whole number, or edges like 0,0.25,0.5,1; not {text!r}.") from None


def parse_classes(text: str | None) -> list[str] | None:
    """Split labels at commas; a label that contains a comma or a line break must be in double quotes."""
    if text is None:
        return None
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as problem:
        raise ValueError(f"`classes` must be labels separated by commas: {problem}.") from None
    if len(lines) > 1:
        raise ValueError(
            f"`classes` must be labels separated by commas on one line; there are {len(lines)} lines. "
            'Put a label with a line break in double quotes: "a\\nb",c.'
        )
    return lines[0] if lines else []


def parse_sub_models(text: str) -> list[str]:
    """Split names of sub-models at commas."""
    names = [name.strip() for name in text.split(",")]
    if not any(names):
        raise ValueError("`sub_models` must hold at least one name, as in 'independent'.")
    return names


#: Parsers of options whose text is not the value.
PARSERS: dict[str, Callable[[str], Any]] = {"bins": parse_bins, "sub_models": parse_sub_models}
