"""What each ONNX operator computes, as tensor expressions: a file for each family, entered in one table."""
