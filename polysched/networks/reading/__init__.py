"""Reads ONNX files: the graph of one, what the format knows of operators, and those that are defined by others."""
