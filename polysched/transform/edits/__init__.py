"""Edits of a schedule, which users and strategies make; `table.py` names all of them."""
