"""OfEstimand: the base of results whose page and document are about an estimand that the caller chooses."""

from pathlib import Path

from bayescal import _presented
from bayescal.estimands.registry import EstimandLike


class OfEstimand(_presented.Presented):
    """A result that exports what it says about any estimand."""

    def to_html(self, path: str | Path | None = None, *, estimand: EstimandLike = "ece") -> str | Path:
        """Return the result as one HTML page with pictures and sortable tables, or write it to a file.

        Parameters
        ----------
        path : str or Path, optional
            The file, whose name ends in ``.html`` or ``.htm``. An existing file is replaced in one step.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str or Path
            The text; with `path`, the file that was written.

        Raises
        ------
        ValueError, TypeError, OSError
            As for `Evaluation.to_html`, or if the estimand cannot be compared.
        """
        return _presented.page_of(self, path, estimand=estimand)

    def to_json(self, path: str | Path | None = None, *, estimand: EstimandLike = "ece") -> str | Path:
        """Return the result as JSON, or write it to a file, as ``bayescal compare --json`` does.

        Parameters
        ----------
        path : str or Path, optional
            The file, whose name ends in ``.json``. An existing file is replaced in one step.
        estimand : str, Estimand or callable, default "ece"
            The estimand to compare.

        Returns
        -------
        str or Path
            The text; with `path`, the file that was written.

        Raises
        ------
        ValueError, TypeError, OSError
            As for `Evaluation.to_json`, or if the estimand cannot be compared.
        """
        return _presented.json_of(self, path, estimand=estimand)
