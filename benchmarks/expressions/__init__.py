"""What the stage for index arithmetic and conditions is worth; the command line is in __main__.py."""
