"""RecalibrationPrior: the prior of calibration intercept and slope."""

from dataclasses import dataclass
from typing import Any

from bayescal import _checks

#: Default prior standard deviations of the shift at the mean logit and of the slope.
WEAK = (2.5, 1.0)
JEFFREYS, FLAT = "jeffreys", "flat"


@dataclass(frozen=True)
class RecalibrationPrior:
    """Prior of intercept and slope: `kind` is "normal", "jeffreys" or "flat".

    With "normal", the shift at the prior's lever and the slope have independent Normal distributions around 0 and 1,
    with these standard deviations. "jeffreys" is the square root of the determinant of Fisher's information, "flat" is
    constant.
    """

    kind: str = "normal"
    shift_sd: float = WEAK[0]
    slope_sd: float = WEAK[1]

    @classmethod
    def read(cls, prior: Any) -> "RecalibrationPrior":
        """Read the argument ``prior``: the name of a prior, or a pair of standard deviations."""
        if isinstance(prior, cls):
            return prior
        if isinstance(prior, str):
            _checks.one_of("prior", prior, ["weak", JEFFREYS, FLAT])
            return cls() if prior == "weak" else cls(prior)
        sds = _checks.positive("prior", prior)
        if sds.shape != (2,):
            raise ValueError(
                "`prior` must be 'weak', 'jeffreys', 'flat', or a pair of standard deviations: of the shift at the "
                f"mean logit and of the slope, as in `prior=(2.5, 1.0)`; not {_checks.quoted(prior)}."
            )
        return cls("normal", float(sds[0]), float(sds[1]))

    def __str__(self) -> str:
        if self.kind != "normal":
            return f"{self.kind.capitalize() if self.kind == JEFFREYS else self.kind} prior"
        return f"prior shift ~ Normal(0, {self.shift_sd:g}), slope ~ Normal(1, {self.slope_sd:g})"
