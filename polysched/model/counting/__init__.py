"""How many points sets have, as polynomials in the sizes."""
