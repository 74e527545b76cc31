from .answers import Answers as Answers
from .answers import judged as judged
from .answers import matched as matched
from .harness_logs import lm_eval as lm_eval
from .inspect_logs import inspect as inspect
from .record_lines import json_lines as json_lines
