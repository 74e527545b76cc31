"""How many labels an evaluation needs."""
