"""What a rule asks of a tree before it changes it: roles, strides, sizes, products, reductions."""
