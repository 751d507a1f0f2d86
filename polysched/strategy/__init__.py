"""What pays on a CPU or a GPU: decisions, and the edits that follow from them."""
