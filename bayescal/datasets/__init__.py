"""Small real prediction sets, shipped with the package."""
