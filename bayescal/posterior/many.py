"""Posteriors of many problems: the forms in which a posterior takes milliseconds."""

from bayescal import _loops
from bayescal.posterior.contract import Posterior
from bayescal.posterior.shrinkage.posterior import ShrinkagePosterior

#: From this number of problems the compiled form pays: it is compiled once, in up to a minute, and stored.
MANY = 100


def compiled_form(posterior: Posterior) -> Posterior:
    """Return the posterior in compiled form; the same one if its model has no such form.

    Parameters
    ----------
    posterior : Posterior
        The posterior.

    Returns
    -------
    Posterior
        Its draws agree with those of the given one to Monte Carlo error.
    """
    if type(posterior) is not ShrinkagePosterior:
        return posterior
    from bayescal.posterior.shrinkage.many import CompiledShrinkagePosterior

    return CompiledShrinkagePosterior(posterior.counts, posterior.prior_options)


def compiled_form_pays(problems: int) -> bool:
    """Return whether so many problems are solved in compiled form.

    Parameters
    ----------
    problems : int
        Their number.

    Returns
    -------
    bool
        True from `MANY` problems on, if numba can be imported; the environment variable BAYESCAL_COMPILE may be
        ``"never"``, or ``"always"`` for any number from 2.
    """
    return _loops.compiles(problems > 1, problems >= MANY)
