"""What `bayescal verify` runs, and every model a second time in PyMC; nothing above imports this."""
