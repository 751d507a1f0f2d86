"""Whole networks: the node tests of ONNX, and real models against ONNX Runtime."""
