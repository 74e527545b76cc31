"""What is believed: posteriors given counts, sampled in closed form."""
