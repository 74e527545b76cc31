"""``python -m bayescal`` is the command line."""

from bayescal.app import main

if __name__ == "__main__":
    main()
