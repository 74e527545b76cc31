from .analysis import judged as judged
from .judge import JudgeReport as JudgeReport
from .result import JudgedEvaluation as JudgedEvaluation
