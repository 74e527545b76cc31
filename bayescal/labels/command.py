"""``bayescal judged``: calibration from a judge's labels, of which some were checked."""

from typing import TYPE_CHECKING

from bayescal.cli.command import Command, Job
from bayescal.cli.options import DrawsOptions, GateOptions, OutputOptions
from bayescal.labels.options import JudgedColumnOptions, JudgedFile, JudgedQuestionOptions, JudgeOptions

if TYPE_CHECKING:
    from bayescal.cli.evaluation import EvaluatedFile


def judged(
    file: JudgedFile,
    columns: JudgedColumnOptions,
    question: JudgedQuestionOptions,
    judge: JudgeOptions,
    model: DrawsOptions,
    gate: GateOptions,
    outputs: OutputOptions,
) -> Job:
    """Estimate the calibration error for the true label, from labels of an imperfect judge, such as a language model.

    The judge labels all rows, and a person checked some of them: --correct or --label is empty in the others.

    Prints the estimate, a table with 95 % credible intervals, the judge's error rates, and warnings.

    Beside them stand the estimates that take the judge's labels as true, and from the checked rows alone.

    Checked rows may be chosen by the judge's label and the confidence, and by nothing else related to the true label.

    The file is read in parts and may be larger than memory.
    """
    from bayescal.cli.gate import require_of_report
    from bayescal.labels.from_files import judged_file

    def evaluate(about: JudgedQuestionOptions) -> "EvaluatedFile":
        return judged_file(file, columns, about, judge, model)

    return Job(lambda: require_of_report(gate, question, evaluate), outputs.given(), [file], outputs.details)


COMMAND = Command(judged, "bayescal.labels.analysis.judged", besides=("strata", "rates"))
