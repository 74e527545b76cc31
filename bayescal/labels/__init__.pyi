from .analysis import judged as judged
from .analysis import judged_counts as judged_counts
from .files import count_file as count_file
from .judge import JudgeReport as JudgeReport
from .result import JudgedEvaluation as JudgedEvaluation
from .sums import JudgedCounts as JudgedCounts
