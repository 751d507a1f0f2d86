"""polysched: polyhedral scheduling in Python. Loop nests in, proven-legal parallel kernels out.

`__init__.pyi` says where each public name is defined; it is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
