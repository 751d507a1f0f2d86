"""What a kernel costs: operations, bytes from each cache and time, predicted from its loops at given sizes."""
