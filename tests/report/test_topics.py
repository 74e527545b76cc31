"""Pages of topics are imported when the page of one of their results is made, and not before."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "loaded"),
    [
        ("bayescal.results.evaluation.Evaluation", []),
        ("bayescal.survival.result.SurvivalEvaluation", ["survival"]),
        ("bayescal.decisions.result.NetBenefit", ["decisions"]),
    ],
)
def test_only_the_page_of_the_topic_of_a_result_is_loaded(result, loaded):
    module, name = result.rsplit(".", 1)
    code = f"""
import sys
from {module} import {name}
from bayescal.report.document import load_page_of
load_page_of({name})
print(sorted(m.split(".")[1] for m in sys.modules if m.startswith("bayescal.") and m.endswith(".page")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [each for each in eval(done.stdout) if each != "report"] == loaded
