"""The shrinkage model for many problems: compiled versions of the algorithms of the parent package.

The rules of integration are coarser. Probabilities of sub-models still agree to about 0.001, a tenth of the Monte Carlo
error of thousands of draws.
"""
