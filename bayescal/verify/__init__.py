"""How we know that it is right; nothing above imports this."""
