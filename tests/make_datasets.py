"""Make the prediction sets of bayescal.datasets from the data that scikit-learn carries: ``make datasets``.

Each row is predicted by a model that has not seen it: five stratified, shuffled folds. The last digits depend on the
processor, since linear algebra libraries choose their code by it. So a file is replaced only if its values have
changed by more than rounding. With ``--quick`` nothing is written, and a change is an error.
"""

import argparse
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDER = Path(__file__).parents[1] / "bayescal" / "datasets"
SEED = 1
#: Probabilities that differ by less count as equal: processors differ by 1e-14, and float32 is accurate to 1e-7.
ROUNDING = 1e-6
LOADERS = {"digits": load_digits, "breast_cancer": load_breast_cancer, "wine": load_wine}
MODELS = {
    "naive_bayes": GaussianNB(),
    "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "random_forest": RandomForestClassifier(n_estimators=100, random_state=SEED),
}


def predict(name: str, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels (N,) and out-of-fold probabilities (N, K) of one model on one data set."""
    x, y = LOADERS[name](return_X_y=True)
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=SEED)
    return y, cross_val_predict(MODELS[model], x, y, cv=folds, method="predict_proba")


def columns(name: str) -> dict[str, np.ndarray]:
    """Columns of the file: the label, then one column a model (binary) or one a model and class."""
    made = {}
    for model in MODELS:
        label, prob = predict(name, model)
        made["label"] = label.astype(np.int8)
        if prob.shape[1] == 2:
            made[model] = prob[:, 1]
        else:
            made.update({f"{model}_{k}": prob[:, k].astype(np.float32) for k in range(prob.shape[1])})
    return made


def changes(path: Path, made: dict[str, np.ndarray]) -> list[str]:
    """Return the columns whose values or types differ from those of the stored file."""
    if not path.exists():
        return list(made)
    table = pq.read_table(path)
    stored = {name: table[name].to_numpy() for name in table.column_names}
    if list(stored) != list(made):
        return sorted({*stored} ^ {*made}) or ["the order of the columns"]
    return [name for name in made if not _same(stored[name], made[name])]


def _same(stored: np.ndarray, made: np.ndarray) -> bool:
    same_kind = stored.dtype == made.dtype and stored.shape == made.shape
    return same_kind and bool((np.abs(stored.astype(float) - made) <= ROUNDING).all())


def write(path: Path, made: dict[str, np.ndarray]) -> None:
    """Write one Parquet file, and beside it the same values as arrays of numpy, one per model."""
    by_model = {model: [made[name] for name in made if name.startswith(model)] for model in MODELS}
    arrays = {model: np.column_stack(each) if len(each) > 1 else each[0] for model, each in by_model.items()}
    np.savez_compressed(path.with_suffix(".npz"), label=made["label"], **arrays)
    con = duckdb.connect(":memory:")
    con.register("made", pa.table(made))
    con.execute(f"COPY made TO '{path}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)")


def main() -> int:
    """Make every data set; return 1 if one has changed but must not be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="write nothing; a change is an error")
    quick, status = parser.parse_args().quick, 0
    for name in LOADERS:
        path, made = FOLDER / f"{name}.parquet", columns(name)
        changed = changes(path, made)
        if not changed:
            print(f"{path.name}: unchanged")
        elif quick:
            print(f"{path.name}: other values in {len(changed)} columns, first in {changed[0]}")
            status = 1
        else:
            write(path, made)
            print(f"{path.name}: written, {path.stat().st_size} bytes; changed columns: {', '.join(changed)}")
    return status


if __name__ == "__main__":
    sys.exit(main())
