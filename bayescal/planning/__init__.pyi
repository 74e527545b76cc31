from .analysis import labels_needed as labels_needed
from .checks import CheckPlan as CheckPlan
from .checks import checks_needed as checks_needed
from .result import Plan as Plan
from .validation_result import ValidationPlan as ValidationPlan
from .without_pilot import validation as validation
