"""All edits by hand: to import them registers them (`registry.py`)."""

from polysched.transform.edits.order.cyclic import cyclic
from polysched.transform.edits.order.diamond import diamond
from polysched.transform.edits.order.distribute import distribute
from polysched.transform.edits.order.fuse import fuse
from polysched.transform.edits.order.peel import peel
from polysched.transform.edits.order.reorder import interchange, reorder
from polysched.transform.edits.order.reverse import reverse
from polysched.transform.edits.order.separate import separate
from polysched.transform.edits.order.shift import shift
from polysched.transform.edits.order.skew import skew
from polysched.transform.edits.order.split import split
from polysched.transform.edits.order.split_set import specialize, split_set
from polysched.transform.edits.order.tile import tile
from polysched.transform.edits.order.wavefront import wavefront
from polysched.transform.edits.run.bind import bind
from polysched.transform.edits.run.parallel import parallel
from polysched.transform.edits.run.product import product
from polysched.transform.edits.run.tensorize import tensorize
from polysched.transform.edits.run.unroll import unroll, unroll_and_jam
from polysched.transform.edits.run.vectorize import vectorize
from polysched.transform.edits.values.assume import assume, independent
from polysched.transform.edits.values.cache import cache_read, cache_write
from polysched.transform.edits.values.compute_at import compute_at
from polysched.transform.edits.values.double_buffer import double_buffer
from polysched.transform.edits.values.inline import inline
from polysched.transform.edits.values.layout import fold_storage, pad, transform_layout
from polysched.transform.edits.values.privatize import privatize
from polysched.transform.edits.values.reverse_compute import reverse_compute_at
from polysched.transform.edits.values.rfactor import rfactor
from polysched.transform.edits.values.set_scope import set_scope

__all__ = [
    "assume",
    "bind",
    "cache_read",
    "cache_write",
    "compute_at",
    "cyclic",
    "diamond",
    "distribute",
    "double_buffer",
    "fold_storage",
    "fuse",
    "independent",
    "inline",
    "interchange",
    "pad",
    "parallel",
    "peel",
    "privatize",
    "product",
    "reorder",
    "reverse",
    "reverse_compute_at",
    "rfactor",
    "separate",
    "set_scope",
    "shift",
    "skew",
    "specialize",
    "split",
    "split_set",
    "tensorize",
    "tile",
    "transform_layout",
    "unroll",
    "unroll_and_jam",
    "vectorize",
    "wavefront",
]
