"""Net benefit of imputed predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from bayescal.decisions.result import NetBenefit
from bayescal.results.imputed import UNBOUNDED, Bounds, Imputed


@dataclass(frozen=True, eq=False, repr=False)
class ImputedNetBenefit(Imputed[NetBenefit], NetBenefit):
    """Decision curves of imputed predictions or outcomes: joint draws of all imputations."""

    imputations: tuple[NetBenefit, ...] = ()

    _joins: ClassVar[Mapping[str, Bounds]] = {"_benefits_and_prevalence": UNBOUNDED}
    _means = ("observed", "few_rows", "few_treated", "design_effects")
    _closed_form = False

    def _words_of(self, row: dict[str, Any]) -> str:
        return f"{row['model']} at {row['threshold']:g}"


def mixed_net_benefit(results: Sequence[NetBenefit]) -> ImputedNetBenefit:
    """Mix the net benefits of all imputations, at the thresholds that all have."""
    least = min((each.thresholds for each in results), key=len)
    common = [replace(each, posterior=replace(each.posterior, counts=each.counts.at(least))) for each in results]
    return ImputedNetBenefit.of(common, n_draws=sum(each.n_draws for each in common))
