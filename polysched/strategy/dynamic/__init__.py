"""Dynamic programming: tables that are filled from themselves."""
