"""Files of predictions."""

from bayescal._moved import names_of

__getattr__ = names_of("bayescal.data.files")
