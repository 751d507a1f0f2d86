"""What is known of integer expressions: bounds, intervals, remainders, polynomials, facts at a place."""
