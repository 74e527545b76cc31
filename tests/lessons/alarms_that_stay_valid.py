"""Checks of the statements in `notebooks/12_alarms_that_stay_valid.ipynb`."""


def check_the_daily_test(daily, ever, SHOPS, DAYS):
    """Of 2400 tests with an error of 0.05 each, at most 150 are wrong with probability 0.998."""
    assert daily.shape == (SHOPS, DAYS)
    assert 0.035 < daily.mean() < 0.0625
    assert 0.85 < ever.mean() < 0.98


def check_the_evidence_of_calibrated_shops(alarms, shops):
    """No alarm has probability 0.13 at least; with this seed there is none, as the text says."""
    assert not any(alarm is not None for alarm in alarms)
    last = [shop.evidence().values[-1] for shop in shops]
    assert sum(value < 1 for value in last) >= 35


def check_the_change(evidence, changed, daily_delay):
    assert 60 < evidence.alarm < 75
    assert daily_delay <= 4500
    assert changed.evidence(reference=(0, 30)).alarm is not None
    assert changed.evidence(reference=(0, 30)).alarm >= 60


def check_wrong_but_not_changed(wrong, change):
    assert wrong.alarm < 5
    assert change.alarm is None


def check_the_confidence_sequence(sequence, wrong):
    assert sequence.above(0.02) < 20
    low, high = wrong.evaluate(rng=1).ece.interval(0.95)
    assert high - low < sequence.interval[1] - sequence.interval[0]


def check_the_exercises(shops, since, evidence, weekly, delay, daily_delay):
    assert sum(shops[:10]).alarm is None
    assert evidence.alarm < since.above(0.02)
    assert weekly.alarm in (60, 67)
    assert abs(delay - daily_delay) <= 2100
