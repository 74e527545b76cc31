from .change import Change as Change
from .confidence_sequence import ConfidenceSequence as ConfidenceSequence
from .evidence import Evidence as Evidence
from .monitor import CalibrationMonitor as CalibrationMonitor
from .plot import plot_confidence_sequence as plot_confidence_sequence
from .plot import plot_evidence as plot_evidence
