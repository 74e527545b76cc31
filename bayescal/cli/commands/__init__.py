"""The commands: one file each, with the options and the page of help. Computation is imported when a command runs."""
