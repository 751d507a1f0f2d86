"""From schedule trees to loops, through passes over them, to the text of a target."""
