from .analysis import judged as judged
from .judge import JudgeReport as JudgeReport
from .partly_observed import partly_observed as partly_observed
from .partly_observed_result import PartlyObservedBand as PartlyObservedBand
from .partly_observed_result import PartlyObservedEvaluation as PartlyObservedEvaluation
from .result import JudgedEvaluation as JudgedEvaluation
