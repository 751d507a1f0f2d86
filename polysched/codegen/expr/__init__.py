"""Passes over expressions: order of operands, code motion, common subexpressions, what they cost."""
