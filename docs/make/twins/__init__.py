"""Posteriors in closed form and in PyMC, with quantities under the same names; `make verify` compares them."""
