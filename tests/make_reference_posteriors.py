"""Sample the reference posteriors in tests/reference/posteriors anew: `make references`, some minutes.

Each file says what was asked, of which shipped data, and what PyMC found: at least 10000 draws, R-hat below 1.01, no
divergences. The quick tests compare the closed forms with that, and need no MCMC.
"""

import json
from pathlib import Path
from typing import Any

from bayescal import datasets, evaluate
from bayescal.posterior._prior import SUB_MODELS
from bayescal.verify.references import reference

FOLDER = Path(__file__).parent / "reference" / "posteriors"
SEED = 20261120
DIGITS, CANCER = ("digits", "random_forest"), ("breast_cancer", "naive_bayes")
#: File -> data (set, classifier), bins, model and its options.
CASES: dict[str, tuple[tuple[str, str], int, str, dict[str, Any]]] = {
    "digits_dirichlet": (DIGITS, 15, "dirichlet", {}),
    "digits_shrinkage": (DIGITS, 15, "shrinkage", {}),
    # all five sub-models between 14 and 26 %
    "digits_logistic_shrinkage": (("digits", "logistic_regression"), 15, "shrinkage", {}),
    "cancer_dirichlet_jeffreys": (CANCER, 8, "dirichlet", {"alpha": "jeffreys"}),
    "cancer_dirichlet_original": (CANCER, 8, "dirichlet", {"formula": "original"}),
    "cancer_shrinkage": (CANCER, 8, "shrinkage", {"prior_odds": 2.0, "rho": [0.1, 0.4]}),
    **{
        f"digits_{name.replace(', ', '_and_').replace(' ', '_')}": (
            DIGITS,
            10,
            "shrinkage",
            {"sub_model_weights": [float(other == name) for other in SUB_MODELS]},
        )
        for name in SUB_MODELS
    },
}


def case(data: tuple[str, str], bins: int, model: str, options: dict[str, Any]) -> dict[str, Any]:
    """What is asked, with its answer by PyMC."""
    stored = getattr(datasets, f"load_{data[0]}")()
    posterior = evaluate(
        stored.y_true, stored.y_prob[data[1]], bins=bins, model=model, draws=100, rng=SEED, **options
    ).posterior
    found = reference(posterior, rng=SEED)
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


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, asked in CASES.items():
        (FOLDER / f"{name}.json").write_text(written(rounded(case(*asked))), encoding="utf-8")
        print(name)
