"""Time tiles of stencils: blocks of an array that run several steps on their own, with a halo that shrinks."""
