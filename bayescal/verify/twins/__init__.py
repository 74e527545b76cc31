"""Models a second time in PyMC: one file per posterior of named quantities."""
