"""PyMC twins of closed forms that no result has a public model for; `make verify` compares them."""
