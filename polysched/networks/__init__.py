"""Whole networks: an ONNX file in, kernels of its nodes, planned memory and one C file out.

`reader.py` makes an operation graph of the file, `operators/` says what each node computes, `passes/` edit the graph,
`kernels.py` compiles groups of nodes, `arena.py` places their results, `network.py` is what the user has of it.
"""
