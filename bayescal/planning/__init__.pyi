from .analysis import labels_needed as labels_needed
from .result import Plan as Plan
