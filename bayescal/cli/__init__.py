"""The frame of the command line: options, steps of a command, help, outputs."""
