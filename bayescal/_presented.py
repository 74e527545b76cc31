"""A result that prints and exports itself: the base of all results that have a table."""

import json
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from bayescal import _metrics, _packages, _render
from bayescal._arrays import pd, pm

#: Suffixes of the names of pages, of documents and of LaTeX tables.
PAGE_SUFFIXES, DOCUMENT_SUFFIXES, LATEX_SUFFIXES = (".html", ".htm"), (".json",), (".tex",)


def page_of(result: "Presented", path: str | Path | None, **options: Any) -> str | Path:
    """Return or write the page of a result; `bayescal.report.page` makes it."""
    report = _report("page")
    page: str | Path = report.page(result, **options) if path is None else report.save_page(result, path, **options)
    return page


def json_of(result: "Presented", path: str | Path | None, **options: Any) -> str | Path:
    """Return or write a result as JSON; `bayescal.report.document` makes the document."""
    from bayescal import _files  # loads numpy, which `bayescal --help` does not need

    text = _files.json_text(_report("document").document(result, **options))
    if path is None:
        return text
    return _files.write_atomically(_files.named_file(path, DOCUMENT_SUFFIXES, "the document is JSON."), text)


def _report(name: str) -> ModuleType:
    """Import a module of `bayescal.report`, when a page or a document is made."""
    return import_module(f"bayescal.report.{name}")


def shortened[T](labels: Sequence[T], most: int, named: T) -> list[T]:
    """Return the first labels, at most this many; the one that the sentence names takes the last place if needed."""
    kept = list(labels[:most])
    return kept if named in kept or len(labels) <= most else [*kept[:-1], named]


def _attribute(result: Any, path: str) -> Any:
    """Return an attribute of a result, such as "counts.n_rows"; None if it does not exist."""
    for name in path.split("."):
        result = getattr(result, name, None)
    return result


class Details:
    """The part of a result that `details` returns and printing leaves out.

    Examples
    --------
    >>> import bayescal as bc
    >>> details = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1).details()
    >>> details.notes[1]
    'Plug-in estimate: 0.2000. It is also biased upwards.'
    >>> details.spec.partition(":")[0]
    'event ECE, 2 equal-width bins [a, b), N = 4, shrinkage model'
    """

    def __init__(self, sheet: _render.Sheet) -> None:
        self._sheet = sheet

    @property
    def spec(self) -> str:
        """Specification of the result on one line."""
        return self._sheet.spec

    @property
    def notes(self) -> tuple[str, ...]:
        """Estimates for comparison, probabilities of sub-models, and definitions of columns; one text each."""
        return tuple(self._sheet.notes)

    def to_dict(self) -> dict[str, Any]:
        """Return the specification and the notes, with keys ``spec`` and ``notes``, as in `to_json` of the result."""
        return {"spec": self.spec, "notes": list(self.notes)}

    def __str__(self) -> str:
        return _render.details_text(self._sheet)

    def __repr__(self) -> str:
        return f"Details({self.spec})"

    def _repr_html_(self) -> str:
        return _render.details_html(self._sheet)


class Presented:
    """A result that prints itself from its sheet: as text, as HTML in a notebook or in a file, and as LaTeX.

    Printing shows the headline, the table and remarks; `details` has the rest. `Sheet` states the rule.

    Its rows as data, from which the cells of the sheet are formatted, become a data frame and JSON. Dataclasses that
    inherit from it need ``repr=False``.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Escape control characters in sentences, as the sheet does in tables."""
        super().__init_subclass__(**options)
        for name in ("sentence", "verdict"):
            if isinstance(method := vars(cls).get(name), FunctionType):
                setattr(cls, name, _render.printable(method))

    #: Keys of the rows that identify a row, and the other keys, which are needed if there may be no rows.
    _index: tuple[str, ...] = ("quantity",)
    _columns: tuple[str, ...] = ()
    #: The rows as data, if the result has this method; it takes `prob` if they have intervals.
    table: Callable[..., list[dict[str, Any]]]

    @property
    def spec(self) -> str:
        """Specification of the result on one line."""
        raise NotImplementedError

    @property
    def _key(self) -> str:
        """Note of the sheet that says what the rows mean, which LaTeX prints below the table; empty by default."""
        return ""

    def _caption(self, sheet: _render.Sheet) -> str:
        """Return the default caption of the LaTeX table."""
        return sheet.spec

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data.

        With `whole`, the table also has the rows that printing leaves out.
        """
        raise NotImplementedError

    def details(self, **options: Any) -> Details:
        """Return what printing leaves out: notes and the specification.

        Notes are estimates for comparison, probabilities of sub-models, and definitions of columns. Pages and JSON
        documents contain them.

        Parameters
        ----------
        **options
            ``estimand=`` of a `Comparison` or another result whose `sheet` takes it.

        Returns
        -------
        Details
            It prints itself, and has the attributes ``notes`` and ``spec``.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> print(str(ev.details()).splitlines()[1])
        Plug-in estimate: 0.2000. It is also biased upwards.
        """
        return Details(self.sheet(**options))

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        """Return the rows of the table as data; `prob` is the probability of the intervals in them, if it has any."""
        intervals = {"prob": prob} if "prob" in signature(self.table).parameters else {}
        return self.table(**intervals, **options)

    def _more(self, prob: float) -> dict[str, Any]:
        """Return what the JSON document contains besides the rows of the table; nothing by default."""
        return {}

    #: Attributes that are numbers of the whole result, for `metrics`; those that do not exist are left out.
    _numbers: tuple[str, ...] = ()

    _quantity_name: str = ""  #: Name of the quantity of the table, for `metrics`, if no key of the rows holds it.

    def _measured_by(self, **options: Any) -> str:
        """Return the name of the quantity of the table, for these options of the table."""
        return self._quantity_name

    def _tables(self, prob: float, **options: Any) -> list[_metrics.Table]:
        """Return the tables that `metrics` reads."""
        rows = self._labelled(self._records(prob, **options))
        table = _metrics.Table(rows, self._index, self._measured_by(**options))
        numbers = {name.rpartition(".")[-1]: _attribute(self, name) for name in self._numbers}
        return [*_metrics.nested(numbers | self._more(prob)), table]

    @property
    def _one_evaluation(self) -> str:
        """How to choose one of the evaluations of the result, for messages of functions that take one; may be empty."""
        return ""

    def _labelled(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of a data frame, in which the index identifies a row; the same rows by default."""
        return rows

    def to_frame(self, prob: float = 0.95, **options: Any) -> "pd.DataFrame":
        """Return the table as a pandas DataFrame, with numbers that are not rounded.

        Parameters
        ----------
        **options
            Passed to `table`: ``estimand=`` of comparisons, groups and classes.

        Returns
        -------
        pandas.DataFrame
            The rows of `table` (of `curve` for a `Plan`). What names a row is its index, as ``quantity`` of an
            `Evaluation`, ``group`` of groups (all rows are in ``overall.to_frame()``), ``first`` and ``second`` of
            pairs of classifiers, or ``model`` and ``threshold`` of a `NetBenefit`. Where the table has no intervals, as
            those of tests, of cumulative differences and of windows of a `CalibrationMonitor`, `prob` has no effect.

            The ends of the interval are called ``eti95_lb`` and ``eti95_ub``, as by `arviz.summary`; 95 is the
            percentage `prob`.

        Raises
        ------
        ValueError, TypeError
            If `prob` is not strictly between 0 and 1, or as for `table`.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> frame = ev.to_frame()
        >>> list(frame.columns)
        ['mean', 'sd', 'eti95_lb', 'eti95_ub', 'plug_in', 'null_mean']
        >>> float(frame.loc["ece", "plug_in"])
        0.2
        """
        from bayescal import _checks, _export

        prob = _checks.fraction("prob", prob)
        if options:
            from bayescal._meant import known_keywords

            known_keywords("to_frame", options, getattr(type(self), "table", type(self).to_frame))
        return _export.frame(self._labelled(self._records(prob, **options)), self._index, self._columns, prob)

    def metrics(self, prob: float = 0.95, **options: Any) -> dict[str, float]:
        """Return the numbers of the result as one flat dict, for MLflow, Weights & Biases and other loggers.

        Parameters
        ----------
        **options
            Passed to `table`: ``estimands=``, a list, of an `Evaluation`; ``estimand=``, one at a time, of comparisons,
            groups and classes.

        Returns
        -------
        dict of str to float
            Plain Python floats by name. A name is ``quantity``, ``quantity_column`` or ``label/quantity_column``; see
            Notes. Numbers that do not exist (NaN) and text are left out, so that a name is absent if its number is.

        Raises
        ------
        ValueError, TypeError
            If `prob` is not strictly between 0 and 1, as for `table`, or if two labels have the same name, as ``a b``
            and ``a_b`` have.

        Notes
        -----
        ``ece`` is the posterior mean, as the column ``mean`` of `table` and ``value`` of tests. Other columns follow
        the name of the quantity:

        - ``ece_sd``, ``ece_low``, ``ece_high``: posterior standard deviation and ends of the interval;
        - ``ece_plug_in``: the observed value;
        - ``ece_if_calibrated``: mean of the plug-in value if the classifier were exactly calibrated (``null_mean``).

        Names of the results:

        - `Evaluation`: the quantities of `table`, and ``brier_score``, ``auc`` and ``accuracy`` as far as they exist;
          ``p_calibrated`` and ``n_rows``. A survival evaluation also has ``horizon`` and ``not_followed``.
        - Groups, classes and horizons: ``north/ece``, and the numbers of all rows (``ece``), or ``classwise_ece`` and
          ``marginal_error``.
        - Comparisons: ``a_minus_b/ece``, with ``_p_left`` (a is better), ``_p_rope`` and ``_p_right`` (b is better), in
          the order in which the classifiers were given; and ``a/ece``, ``a/p_best``, ``a/rank``. ``_mcse`` after one
          of these names is its Monte Carlo standard error.
        - Choices of bins and models: ``equal-width/15/ece``, ``shrinkage/default/ece``.
        - `NetBenefit`: ``model/0.1/net_benefit``; `ClinicalSummary`: ``model/net_benefit_at_0.1``; `LossRatio`:
          ``0.1/loss_ratio``; `SelectivePrediction`: ``model/0.8/selective_risk``; `Recalibration`: ``intercept``,
          ``slope``; cumulative statistics: ``kuiper``, ``kuiper_p_value``; `ClassPriors`: ``cat/frequency``; `Plan`:
          ``rows`` and ``200/share``; streams: ``2026-03-01T00:00:00/plug_in_ece``.

        Names hold letters, digits and ``_ - . : /``. Other characters of labels become ``_``.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> list(ev.metrics(estimands=["ece"]))
        ['p_calibrated', 'n_rows', 'ece', 'ece_sd', 'ece_low', 'ece_high', 'ece_plug_in', 'ece_if_calibrated']
        >>> ev.metrics()["ece_plug_in"]
        0.2
        """
        from bayescal import _checks

        table = getattr(type(self), "table", type(self).metrics)
        _metrics.require_options(prob, options, signature(table).parameters)
        prob = _checks.fraction("prob", prob)
        if options:
            from bayescal._meant import known_keywords

            known_keywords("metrics", options, table)
        return _metrics.flat(self._tables(prob, **options))

    def to_latex(
        self, path: str | Path | None = None, *, caption: str | None = None, label: str | None = None, **options: Any
    ) -> str | Path:
        r"""Return the printed table as LaTeX, with all rows, or write it to a file; it needs the package booktabs.

        Parameters
        ----------
        path : str or Path, optional
            The file, whose name ends in ``.tex``. An existing file is replaced in one step.
        caption : str, optional
            Text of the caption; by default the specification, or rows and events of a `ClinicalSummary`. It
            is text, not LaTeX: special characters are escaped.
        label : str, optional
            Name of the table for ``\ref``.
        **options
            ``estimands=`` of an `Evaluation`, as for its `table`; ``estimand=`` of a `Comparison` or `Change`.

        Returns
        -------
        str or Path
            A ``table`` environment; with `path`, the file that was written. Names are printed as they are. Remarks and
            notes are comments, except for the key of a `ClinicalSummary`, which is printed.

        Raises
        ------
        ValueError, TypeError
            If the result has no table, `caption` is not text, `label` contains special characters, or `path` is not the
            name of a LaTeX file.
        OSError
            If the folder does not exist or is not writable.

        Notes
        -----
        A name with characters that are not Latin needs XeLaTeX or LuaLaTeX, and a font that contains them. A table with
        more rows than a page needs another environment, as ``to_frame().style.to_latex(environment="longtable")``.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> lines = ev.to_latex(caption=ev.sentence(), label="tab:ece").splitlines()
        >>> [line.strip() for line in lines if "2.5" in line]
        ['& mean & sd & 2.5 \\% & 97.5 \\% & plug-in & if calibrated \\\\']
        """
        from bayescal import _export, _files

        sheet = self.sheet(whole=True, **options)
        caption = self._caption(sheet) if caption is None else caption
        remarks = [remark for remark in (*sheet.notes, *sheet.remarks) if remark != self._key]
        text = _export.latex_table(
            sheet.header, sheet.rows, caption=caption, label=label, remarks=remarks, key=self._key
        )
        if path is None:
            return text
        return _files.write_atomically(_files.named_file(path, LATEX_SUFFIXES, "the table is LaTeX."), text)

    def to_json(self, path: str | Path | None = None) -> str | Path:
        """Return the result as JSON, or write it to a file; the command line writes the same documents.

        Parameters
        ----------
        path : str or Path, optional
            The file, whose name ends in ``.json``. An existing file is replaced in one step.

        Returns
        -------
        str or Path
            The text; with `path`, the file that was written.

        Raises
        ------
        ValueError, TypeError
            If `path` is not the name of a JSON file.
        OSError
            If the folder does not exist or is not writable.

        Notes
        -----
        The document contains the version of the package, the specification, the sentence, the rows of `table` with 95 %
        intervals, the bins, and the seeds; for a target without labels, also the class frequencies or the report on
        weights. Missing numbers are null. Seeds are text, because many parsers round
        integers beyond 2^53. The same result gives the same text.

        Examples
        --------
        >>> import json
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> document = json.loads(ev.to_json())
        >>> document["schema"], document["table"][0]["quantity"], document["table"][0]["plug_in"]
        ('bayescal.report/1', 'ece', 0.2)
        """
        return json_of(self, path)

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """Return the document of `to_json` as dicts, lists, strings, numbers, booleans and None (a missing number).

        Parameters
        ----------
        **options
            As for `to_json`: ``estimand=`` of a `Comparison`.

        Raises
        ------
        TypeError
            If the result does not have an option.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> ev.to_dict()["table"][0]["plug_in"]
        0.2
        """
        document: dict[str, Any] = json.loads(self.to_json(**options))  # type: ignore[arg-type]  # text without a path
        return document

    def to_html(self, path: str | Path | None = None) -> str | Path:
        """Return the result as one HTML page with pictures, sortable tables and the specification, or write it.

        What is returned, and which errors are raised, is as for `to_json`.

        Parameters
        ----------
        path : str or Path, optional
            The file, whose name ends in ``.html`` or ``.htm``. An existing file is replaced in one step.

        Notes
        -----
        The page needs no other file and no network. It follows the light or dark mode of the browser and can be
        printed. Names from the data are literal text and cannot run as a script. The same result gives the same bytes.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = ev.to_html(Path(folder) / "report.html")
        ...     ev.spec.partition(":")[0] in written.read_text(encoding="utf-8")
        True
        """
        return page_of(self, path)

    def to_pymc(self, **options: Any) -> "pm.Model":
        """Write the model of the result in PyMC, with the same data and the same prior.

        Parameters
        ----------
        **options
            As for `bayescal.pymc_model`.

        Returns
        -------
        pymc.Model
            With named dims and coords.

        Raises
        ------
        TypeError, ValueError, ModuleNotFoundError
            As `bayescal.pymc_model`: for a result without generative model, an invalid option, or without PyMC.

        Examples
        --------
        >>> import bayescal as bc
        >>> ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, model="dirichlet", rng=1)
        >>> [v.name for v in ev.to_pymc(form="rates").free_RVs]
        ['rate', 'mu']
        """
        model: pm.Model = import_module("bayescal.verify.models").pymc_model(self, **options)
        return model

    def __str__(self) -> str:
        return _render.text(self.sheet())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec})"

    def _repr_html_(self) -> str | None:
        # a notebook shows the text if there is no HTML
        return _render.html(self.sheet()) if _packages.installed("jinja2") else None
