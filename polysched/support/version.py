"""The version of polysched; setup.cfg reads it from here."""

__version__ = "0.1.0"
