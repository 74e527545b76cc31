"""The shrinkage model for many problems: compiled versions of the algorithms of the parent package.

`problem.integrate` computes the log evidences of all sub-models, then `problem.draw` draws from them. The quadrature
rules are coarser than those of the parent package. Probabilities of sub-models still agree to about 0.001, a tenth of
the Monte Carlo error of thousands of draws.
"""
