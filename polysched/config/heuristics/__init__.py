"""The numbers of judgement: from where on something pays, and how much of it. What is a fact of a machine is in
`config/machine.py` and `target.py`; what bounds the time of a question to isl stands where the question is asked.

    cpu.py     tiles, products, threads and lanes of CPUs
    gpu.py     grids, sums and copies of GPUs
    nest.py    what is done to a nest before it is scheduled
    code.py    what is done to loops and expressions at last
"""
