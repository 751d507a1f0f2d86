"""A search whose kernels are built and timed by the workers of a Dask cluster."""
