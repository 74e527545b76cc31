"""What is shown: pictures."""
