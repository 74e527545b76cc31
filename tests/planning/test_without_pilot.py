"""Plans from published numbers: widths by other quadrature, truths, choices, messages, and the command."""

import json

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, logit
from typer.testing import CliRunner

import bayescal as bc
from bayescal.app import app
from bayescal.planning.decision import Decision, first_above
from bayescal.planning.published import draws_of
from bayescal.planning.risks import WEIGHTS, Risks, log_odds_of, logit_normal
from bayescal.planning.widths import WIDTHS, Moments, rows_with, simulated
from bayescal.planning.without_pilot import _truths

Z = stats.norm.ppf(0.975)
FEW = {"simulations": 50, "rng": 1}


def plan(**options):
    return bc.planning.validation(**{"prevalence": 0.2, "auc": 0.75, **FEW, **options})


def on_average(goal, width, **options):
    return plan(width={goal: width}, **options).goals[goal].rows_on_average


def moments(truths, threshold):
    weight, risk = truths.weight, truths.risk
    odds = threshold / (1 - threshold)
    return Moments.of(truths.log_odds, weight, weight * risk, risk, truths.above(threshold), odds)


@pytest.mark.parametrize(("prevalence", "auc"), [(0.01, 0.75), (0.1, 0.6), (0.3, 0.95), (0.5, 0.99), (0.9, 0.8)])
def test_logit_normal_risks_have_the_prevalence_and_the_auc(prevalence, auc):
    """Both by adaptive quadrature: P(p' < p | event, no event) is an integral of density times distribution."""
    log_odds = logit_normal(np.array([prevalence]), np.array([auc]))[0]
    mu, sigma = np.interp(0, np.linspace(-9, 9, 451), log_odds), (log_odds[300] - log_odds[225]) / 3.0

    def integral(function):
        return integrate.quad(function, -9, 9, epsabs=1e-11, limit=400)[0]

    def others(z):
        return stats.norm.pdf(z) * expit(-mu - sigma * z)

    assert integral(lambda z: stats.norm.pdf(z) * expit(mu + sigma * z)) == pytest.approx(prevalence, rel=1e-6)
    grid = np.linspace(-9, 9, 4001)
    below = integrate.cumulative_simpson(others(grid), x=grid, initial=0)
    area = integrate.simpson(stats.norm.pdf(grid) * expit(mu + sigma * grid) * below, x=grid)
    assert area / (prevalence * (1 - prevalence)) == pytest.approx(auc, abs=1e-5)


def test_moments_of_uniform_risks():
    """Uniform risks: AUC 5/6; of the rows above 1/2, 3/8 have the event and 1/8 have not; E[p (1 - p)] = 1/6."""
    at = log_odds_of(stats.uniform())
    of = moments(Risks(at, expit(at)), 0.5)
    assert of.auc[0] == pytest.approx(5 / 6, abs=1e-4)
    assert (of.true_positive[0], of.false_positive[0]) == pytest.approx((3 / 8, 1 / 8), abs=1e-4)
    assert of.information[0][0] == pytest.approx(1 / 6, rel=1e-5)
    assert of.shift_variance[0] == pytest.approx(6, rel=1e-5)
    # E[logit(p)^2 p (1 - p)] = (pi^2 - 6) / 18 by integration by parts; the mixed element is 0 by symmetry
    i11 = integrate.quad(lambda p: logit(p) ** 2 * p * (1 - p), 0, 1)[0]
    slope = WIDTHS["slope"](of, 1000.0, Z)[0]
    assert slope == pytest.approx(2 * Z * np.sqrt(1 / i11 / 1000), rel=1e-4)
    # net benefit at 1/2: one row gives 1, -1 or 0
    assert WIDTHS["net_benefit"](of, 1000.0, Z)[0] == pytest.approx(2 * Z * np.sqrt((0.5 - 0.25**2) / 1000), rel=1e-3)


def test_predicted_risks_have_the_stated_mean_slope_and_intercept():
    rng = np.random.default_rng(1)
    read = {"prevalence": 0.3, "auc": 0.7, "slope": 0.8, "observed_expected": 1.2}
    draws = {name: draws_of(name, value, 10, rng)[0] for name, value in read.items()}
    truths = _truths(draws, None)
    assert expit(truths.log_odds[0]) @ WEIGHTS == pytest.approx(0.25, rel=1e-8)
    a, b = np.linalg.lstsq(np.stack([np.ones(451), truths.log_odds[0]], axis=1), logit(truths.risk[0]), rcond=None)[0]
    assert b == pytest.approx(0.8, rel=1e-9)
    del draws["observed_expected"]
    for name, value, precision in (("intercept", a, 1e-7), ("mean_risk", 0.25, 1e-9)):
        other = _truths({**draws, name: np.array([value])}, None)
        np.testing.assert_allclose(other.log_odds, truths.log_odds, atol=20 * precision)


def test_a_given_distribution_is_shifted_to_the_prevalence():
    """The mean of Beta(2, 8) is 0.2: with prevalence 0.2 the slope is that of calibrated risks, with 0.3 another."""
    risks = stats.beta(2, 8)
    calibrated = plan(prevalence=None, auc=None, risks=risks, width={"slope": 0.3}).goals["slope"].rows_on_average
    assert plan(auc=None, risks=risks, width={"slope": 0.3}).goals["slope"].rows_on_average == calibrated
    ratio = plan(prevalence=None, auc=None, risks=risks, observed_expected=1.5, width={"slope": 0.3})
    assert ratio.prevalence == pytest.approx(0.3, rel=1e-6)
    i = [integrate.quad(lambda p, k=k: logit(p) ** k * p * (1 - p) * risks.pdf(p), 0, 1)[0] for k in (0, 1, 2)]
    assert calibrated == np.ceil((2 * Z / 0.3) ** 2 * i[0] / (i[0] * i[2] - i[1] ** 2))


@pytest.mark.parametrize(
    ("name", "value", "mean", "ends"),
    [
        ("prevalence", (0.1, 0.08, 0.125), 0.1, (0.0789, 0.1239)),
        ("slope", (0.9, 0.7, 1.1), 0.9, (0.7, 1.1)),
        ("observed_expected", (1.0, 0.8, 1.25), 1.0065, (0.8, 1.25)),  # mean of a log-Normal: exp(s^2 / 2)
        ("auc", stats.uniform(0.7, 0.1), 0.75, (0.7025, 0.7975)),
    ],
)
def test_draws_have_the_stated_distribution(name, value, mean, ends):
    """Stratified draws: their mean and quantiles have errors of about 1 / size."""
    draws, words = draws_of(name, value, 2000, np.random.default_rng(1))
    assert len(draws) == 2000
    assert draws.mean() == pytest.approx(mean, abs=2e-4)
    np.testing.assert_allclose(np.quantile(draws, [0.025, 0.975]), ends, atol=1.5e-3)
    assert " to " in words


def test_studies_estimate_the_moments_without_bias():
    """Means over 4000 studies of 2000 rows; 4 standard errors."""
    log_odds = logit_normal(np.array([0.2]), np.array([0.75]))
    truths = Risks(log_odds, expit(log_odds))
    exact, above = moments(truths, 0.3), truths.above(0.3)
    study = simulated(truths.coarse(), above, 3 / 7, 2000, 4000, np.random.default_rng(1))
    for name in ("prevalence", "auc", "observed_expected", "true_positive", "false_positive"):
        values = getattr(study, name)
        assert abs(values.mean() - getattr(exact, name)[0]) < 4 * values.std() / np.sqrt(4000) + 2e-4, name
    for name, width in WIDTHS.items():
        assert np.median(width(study, 2000, Z)) == pytest.approx(width(exact, 2000, Z)[0], rel=0.015), name


def test_separated_studies_have_no_slope():
    log_odds = logit_normal(np.array([0.05]), np.array([0.9]))
    study = simulated(Risks(log_odds, expit(log_odds)), (np.array([0.02]), np.array([0.1])), 1.0, 20, 200,
                      np.random.default_rng(1))  # fmt: skip
    rows = rows_with(lambda n: WIDTHS["slope"](study, n, Z), 0.3, 200)
    assert (rows[study.prevalence == 0] == np.inf).all()
    assert np.isinf(rows).mean() > 0.3


def test_assurance_needs_more_rows_and_uncertain_numbers_more():
    width = {"slope": 0.3, "observed_expected": 0.3}
    options = {"width": width, "simulations": 400}
    known, uncertain = plan(**options), plan(**options, prevalence=(0.2, 0.15, 0.255), auc=(0.75, 0.7, 0.8))
    for goal in width:
        assert known.goals[goal].rows > known.goals[goal].rows_on_average
        assert uncertain.goals[goal].rows > 1.05 * known.goals[goal].rows
    assert uncertain.rows == max(goal.rows for goal in uncertain.goals.values())
    assert plan(**options, assurance=0.95).rows > known.rows
    curve = known.goals["slope"].curve
    assert list(curve.values()) == sorted(curve.values())
    assert first_above(curve, 0.8) == pytest.approx(known.goals["slope"].rows, rel=0.05)


def test_the_probability_of_the_best_strategy_is_that_of_exact_sums():
    """A multinomial sum for 16 rows; with odds of 1/4, net benefits have no rounding errors."""
    phi, tp, fp, odds, n = 0.3, 0.2, 0.2, 0.25, 16
    decision = Decision(odds, np.array([phi]), np.array([tp]), np.array([fp]))
    none, model, treat_all = decision.net_benefits()[0]
    assert (none, model, treat_all) == pytest.approx((0, tp - odds * fp, phi - odds * (1 - phi)))
    exact = 0.0
    for a in range(n + 1):  # events above the threshold, others above, events below
        for b in range(n + 1 - a):
            for c in range(n + 1 - a - b):
                p = stats.multinomial.pmf([a, b, c, n - a - b - c], n, [tp, fp, phi - tp, 1 - phi - fp])
                observed = [0, a / n - odds * b / n, (a + c) / n - odds * (1 - (a + c) / n)]
                exact += p * (np.argmax(observed) == np.argmax([none, model, treat_all]))
    found, _ = decision.after(n, np.random.default_rng(1))
    assert found == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 40_000))


def test_the_value_of_sample_information_tends_to_that_of_perfect_information():
    """Two truths that are equally probable: the model gains 0.1 or loses 0.2, and treating nobody gains 0."""
    decision = Decision(1.0, np.array([0.3, 0.3]), np.array([0.3, 0.1]), np.array([0.2, 0.3]))
    np.testing.assert_allclose(decision.net_benefits()[:, 1], [0.1, -0.2])
    assert decision.evpi == pytest.approx(0.05)
    assert decision.after(100_000, np.random.default_rng(1))[1] == pytest.approx(0.05, abs=1e-3)
    assert decision.after(3, np.random.default_rng(1))[1] < 0.05
    np.testing.assert_allclose(decision.best, [0.5, 0.5, 0])


def test_a_plan_for_a_choice():
    uncertain = {"prevalence": (0.1, 0.08, 0.125), "auc": (0.7, 0.62, 0.78), "slope": (0.9, 0.6, 1.2)}
    result = plan(**uncertain, threshold=0.04, best=0.8, information=0.8)
    assert result.goals["best"].rows > 20
    assert result.rows == max(goal.rows for goal in result.goals.values())
    assert "Expected net benefit at the threshold 0.04: treat none 0.0000" in str(result)
    assert result.goals["best"].rows_on_average is None


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["ece", "ici"])
def test_widths_of_evaluations(goal):
    """The width of the answer is the goal: simulated again with other numbers and continuous risks; 40 studies."""
    result = plan(width={goal: 0.06})
    rows = result.goals[goal].rows
    rng, log_odds = np.random.default_rng(3), logit_normal(np.array([0.2]), np.array([0.75]))[0]
    widths = []
    for _ in range(40):
        p = expit(np.interp(rng.standard_normal(rows), np.linspace(-9, 9, 451), log_odds))
        y = (rng.random(rows) < p).astype(int)
        of = bc.evaluate(y, p, draws=500, rng=rng).ece if goal == "ece" else bc.clinical.calibration_curve(
            y, p, draws=500, rng=rng
        ).ici  # fmt: skip
        low, high = of.interval()
        widths.append(high - low)
    # shares of 50 and of 40 studies: 4 standard errors of their difference
    assert abs(np.mean(np.array(widths) <= 0.06) - 0.8) < 4 * np.sqrt(0.16 / 50 + 0.16 / 40)


def test_printed_and_exported():
    result = plan(width={"slope": 0.3, "auc": 0.1})
    assert str(result).startswith(f"{result.rows} rows, about {result.events} of them with the event, meet all 2 goals")
    assert "Prevalence 0.2, auc 0.75, slope 1" in str(result)
    document = json.loads(result.to_json())
    assert document["rows"] == result.rows
    assert [row["goal"] for row in document["table"]] == ["slope", "auc"]
    assert result.to_frame().loc["auc", "rows"] == result.goals["auc"].rows
    assert result.metrics()["rows"] == result.rows
    assert "Share of studies that meet each goal" in result.to_html()
    short = plan(width={"slope": 0.01}, largest=1000)
    assert short.rows is None
    assert short.sentence() == "1000 rows are not enough for the goal of the calibration slope."
    axes = bc.plot(result)
    assert [line.get_gid() for line in axes.get_lines()] == ["slope", "slope rows", "auc", "auc rows", "assurance"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a plan needs a goal: .*observed_expected, .*ici; or `best=0.9`"),
        ({"width": {"slop": 0.3}}, "`width` must be one of .* Did you mean 'slope'"),
        ({"width": {"slope": -1}}, r"`width\['slope'\]` must be finite and > 0"),
        ({"width": {"net_benefit": 0.1}}, "`threshold` is needed for the goal 'net_benefit'"),
        (
            {"width": {"slope": 0.3}, "prevalence": 0},
            "must be strictly between 0 and 1, not 0: a validation",
        ),
        ({"width": {"slope": 0.3}, "prevalence": 20}, "Percent. Divide by 100"),
        ({"width": {"slope": 0.3}, "auc": 0.5}, "`auc` must be .* at 0.5 all risks are equal and no slope exists"),
        ({"width": {"slope": 0.3}, "auc": None}, "`auc` is needed, unless `risks`"),
        ({"width": {"slope": 0.3}, "prevalence": (0.1, 0.2, 0.05)}, "low < mean < high"),
        ({"width": {"slope": 0.3}, "prevalence": (0.1, 0.09, 0.4)}, "a Beta distribution: that with the mean 0.1"),
        ({"width": {"slope": 0.3}, "slope": (0.5, -0.2, 1.2)}, "not -0.2: at 0 or below, predicted risks do not order"),
        (
            {"width": {"slope": 0.3}, "slope": stats.norm(0.5, 0.35)},
            "`slope` must be .* [68] % of its distribution is not",
        ),
        (
            {"width": {"slope": 0.3}, "observed_expected": 1.0, "intercept": 0.0},
            "at most one of `observed_expected`",
        ),
        ({"width": {"slope": 0.3}, "prevalence": 0.6, "observed_expected": 0.5}, "imply a mean risk of 1.2"),
        ({"width": {"slope": 0.3}, "risks": stats.beta(2, 8)}, "`auc` follows from `risks`"),
        ({"information": 0.5, "threshold": 0.2}, "`information` needs doubt about the best strategy"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        plan(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prevalence": "10%"}, "a number, .* Write 0.1."),
        ({"prevalence": (0.1, 0.2)}, "a number, "),
        ({"width": 0.3}, "`width` must be a mapping such as {'slope': 0.3}"),
        ({"auc": None, "risks": [0.1, 0.2]}, "`risks` must be a frozen distribution, as scipy.stats.beta"),
    ],
)
def test_wrong_types(options, message):
    with pytest.raises(TypeError, match=message):
        plan(**{"width": {"slope": 0.3}, **options})


def command(*arguments):
    return CliRunner().invoke(app, ["plan-validation", *arguments], env={"COLUMNS": "200", "TERM": "dumb"})


def test_the_command_is_the_plan_of_the_library(tmp_path):
    out, page = tmp_path / "plan.json", tmp_path / "plan.html"
    numbers = ("--prevalence", "0.1,0.08,0.125", "--auc", "0.78", "--width", "slope=0.3", "--width", "auc=0.1")
    done = command(*numbers, "--simulations", "50", "--json", str(out), "--html", str(page))
    assert done.exit_code == 0, done.output
    widths = {"slope": 0.3, "auc": 0.1}
    expected = bc.planning.validation(prevalence=(0.1, 0.08, 0.125), auc=0.78, width=widths, **FEW)
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["table"] == expected.table()
    assert document["parameters"]["prevalence"] == "0.1,0.08,0.125"
    assert expected.sentence() in " ".join(done.stdout.split())
    assert "calibration slope" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--prevalence", "0.1", "--auc", "0.8"), "a plan needs a goal"),
        (("--prevalence", "0.1", "--auc", "0.8", "--width", "0.3"), "--width must be NAME=WIDTH, as in slope=0.3"),
        (("--prevalence", "a", "--auc", "0.8", "--width", "auc=0.3"), "must be a number, or MEAN,LOW,HIGH"),
    ],
)
def test_the_command_refuses(arguments, message):
    done = command(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_the_help_shows_the_defaults_of_the_library():
    text = command("--help").stdout
    assert "[default: 1000]" in text
    assert "observed_expected, in_the_large, slope" in " ".join(text.split())
