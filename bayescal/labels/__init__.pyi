from .analysis import judged as judged
from .judge import JudgeReport as JudgeReport
from .partial import partly_observed as partly_observed
from .partial_result import PartlyObservedBand as PartlyObservedBand
from .partial_result import PartlyObservedEvaluation as PartlyObservedEvaluation
from .result import JudgedEvaluation as JudgedEvaluation
