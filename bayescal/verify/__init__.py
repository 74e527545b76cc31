"""Verification: the code of `bayescal verify`, and every model a second time in PyMC; nothing above imports this."""
