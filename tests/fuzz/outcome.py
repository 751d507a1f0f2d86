"""What a check of one random program may end in, other than that all is right."""


class Refused(Exception):
    """polysched said that it does not take the program, and why."""
