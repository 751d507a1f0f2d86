"""What a search has measured, looked at: how it went on, what was predicted, which decisions mattered."""
