"""Make the prediction sets of bayescal.datasets from the data that scikit-learn carries: ``make datasets``.

Each row is predicted by a model that has not seen it: five stratified, shuffled folds.
"""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDER = Path(__file__).parents[1] / "bayescal" / "datasets"
SEED = 1
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


def main() -> None:
    """Write one Parquet file a data set."""
    for name in LOADERS:
        path = FOLDER / f"{name}.parquet"
        con = duckdb.connect(":memory:")
        con.register("made", pa.table(columns(name)))
        con.execute(f"COPY made TO '{path}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)")
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
