"""What was counted: deterministic, no random numbers."""
