"""What is computed element by element: functions, broadcasting, quantized and narrow numbers."""
