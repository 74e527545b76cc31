"""Sample the reference posteriors in tests/reference/posteriors anew: `make references`, some minutes.

Each file says what was asked, of which shipped data, and what PyMC found: at least 10000 draws, R-hat below 1.01, no
divergences. The tests compare the closed forms with that, and need no MCMC. With --quick one of them is sampled with
fewer draws, compared with the stored numbers, and nothing is written.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bayescal import datasets, evaluate
from bayescal.posterior.shrinkage.prior import ENDS, EXACT, INDEPENDENT, NAMES, NOISE, SATURATED
from bayescal.verify.chains import reference

FOLDER = Path(__file__).parent / "reference" / "posteriors"
SEED = 20261120
DIGITS, CANCER = ("digits", "random_forest"), ("breast_cancer", "naive_bayes")
LOGISTIC = ("digits", "logistic_regression")
#: The confidences of naive Bayes crowd at 0 and 1.
SATURATED_ENDS = [0.0, 0.0001, 0.1, 0.5, 0.9, 0.9999, 1.0]
#: File -> data (set, classifier), bins, model and its options.
CASES: dict[str, tuple[tuple[str, str], int | list[float], str, dict[str, Any]]] = {
    "digits_dirichlet": (DIGITS, 15, "dirichlet", {}),
    # the model of release 0.1.0; in the second of these all five sub-models are between 14 and 26 %
    "digits_shrinkage": (DIGITS, 15, "shrinkage", {"sub_models": [INDEPENDENT]}),
    "digits_logistic_shrinkage": (LOGISTIC, 15, "shrinkage", {"sub_models": [INDEPENDENT]}),
    # all sub-models
    "digits_logistic_default": (LOGISTIC, 10, "shrinkage", {}),
    # the bins at the ends are saturated
    "cancer_saturated": (CANCER, SATURATED_ENDS, "shrinkage", {"sub_models": [NOISE, SATURATED]}),
    "cancer_dirichlet_jeffreys": (CANCER, 8, "dirichlet", {"alpha": "jeffreys"}),
    "cancer_dirichlet_original": (CANCER, 8, "dirichlet", {"formula": "original"}),
    "cancer_shrinkage": (
        CANCER,
        8,
        "shrinkage",
        {"prior_odds": 2.0, "rho": [0.1, 0.4], "sub_models": [INDEPENDENT]},
    ),
    **{
        f"digits_{name.replace(', ', '_and_').replace(' ', '_')}": (DIGITS, 10, "shrinkage", {"sub_models": [name]})
        for name in NAMES
        if name not in (EXACT, ENDS)
    },
    # the bins at both ends are crowded
    "cancer_noise_at_the_ends": (CANCER, 15, "shrinkage", {"sub_models": [ENDS]}),
}


#: What --quick samples, the number of draws, and the largest difference of means in Monte Carlo standard errors: with
#: about 100 comparisons, one seed in 10 000 fails by chance.
QUICK, FEW, LARGEST_Z = "cancer_dirichlet_jeffreys", 2000, 5.0


def case(
    data: tuple[str, str], bins: int | list[float], model: str, options: dict[str, Any], draws: int = 10_000
) -> dict[str, Any]:
    """Sample one posterior with PyMC; return the question and its answer."""
    stored = getattr(datasets, f"load_{data[0]}")()
    posterior = evaluate(
        stored.y_true, stored.y_prob[data[1]], bins=bins, model=model, draws=100, rng=SEED, **options
    ).posterior
    found = reference(posterior, draws=draws, rng=SEED)
    if found.problems:
        raise RuntimeError(f"no reference: {'; '.join(found.problems)}.")
    return {"data": data[0], "classifier": data[1], "bins": bins, "model": model, "options": options, **found.to_dict()}


def rounded(value: Any) -> Any:
    """Nine digits say more than any Monte Carlo error leaves standing."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return float(f"{value:.9g}") if isinstance(value, float) else value


def written(document: dict[str, Any]) -> str:
    """One quantity a line, so that a change can be read."""
    about = "".join(f'"{key}": {json.dumps(value)},\n' for key, value in document.items() if key != "rows")
    rows = ",\n".join(f'  "{name}": {json.dumps(row)}' for name, row in document["rows"].items())
    return f'{{\n{about}"rows": {{\n{rows}\n}}\n}}\n'


def largest_difference(made: dict[str, Any], stored: dict[str, Any]) -> tuple[float, str]:
    """Return the largest difference of means, in Monte Carlo standard errors, and its quantity."""
    if list(made["thresholds"]) != stored["thresholds"] or made["rows"].keys() != stored["rows"].keys():
        return float("inf"), "other quantities"
    pairs = {name: (row, stored["rows"][name]) for name, row in made["rows"].items()}
    error = {name: (a["mcse_mean"] ** 2 + b["mcse_mean"] ** 2) ** 0.5 for name, (a, b) in pairs.items()}
    z = {name: abs(a["mean"] - b["mean"]) / error[name] for name, (a, b) in pairs.items() if error[name] > 0}
    worst = max(z, key=lambda name: z[name])
    return z[worst], worst


def compare_with_stored() -> int:
    """Sample one of the stored posteriors again; return 1 if it differs."""
    stored = json.loads((FOLDER / f"{QUICK}.json").read_text(encoding="utf-8"))
    z, quantity = largest_difference(case(*CASES[QUICK], draws=FEW), stored)
    print(f"{QUICK}: largest difference {z:.1f} standard errors ({quantity})")
    return int(not z < LARGEST_Z)


def main() -> int:
    """Sample the requested posteriors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="compare a few with the stored ones; write nothing")
    if parser.parse_args().quick:
        return compare_with_stored()
    FOLDER.mkdir(exist_ok=True)
    for name, asked in CASES.items():
        (FOLDER / f"{name}.json").write_text(written(rounded(case(*asked))), encoding="utf-8")
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
