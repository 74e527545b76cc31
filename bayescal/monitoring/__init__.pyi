from .monitor import CalibrationMonitor as CalibrationMonitor
from .plot import plot_confidence_sequence as plot_confidence_sequence
from .plot import plot_evidence as plot_evidence
from .result import Change as Change
from .result import ConfidenceSequence as ConfidenceSequence
from .result import Evidence as Evidence
