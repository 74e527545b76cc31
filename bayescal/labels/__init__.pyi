from .analysis import judged as judged
from .compare_analysis import compare_judged as compare_judged
from .compare_result import JudgedComparison as JudgedComparison
from .judge import JudgeReport as JudgeReport
from .result import JudgedEvaluation as JudgedEvaluation
