"""All edits by hand: to import them registers them (`registry.py`)."""

from polysched.transform.hand.order.cyclic import cyclic
from polysched.transform.hand.order.diamond import diamond
from polysched.transform.hand.order.distribute import distribute
from polysched.transform.hand.order.fuse import fuse
from polysched.transform.hand.order.peel import peel
from polysched.transform.hand.order.reorder import interchange, reorder
from polysched.transform.hand.order.reverse import reverse
from polysched.transform.hand.order.separate import separate
from polysched.transform.hand.order.shift import shift
from polysched.transform.hand.order.skew import skew
from polysched.transform.hand.order.split import split
from polysched.transform.hand.order.split_set import split_set
from polysched.transform.hand.order.tile import tile
from polysched.transform.hand.order.wavefront import wavefront
from polysched.transform.hand.run.bind import bind
from polysched.transform.hand.run.parallel import parallel
from polysched.transform.hand.run.product import product
from polysched.transform.hand.run.tensorize import tensorize
from polysched.transform.hand.run.unroll import unroll, unroll_and_jam
from polysched.transform.hand.run.vectorize import vectorize
from polysched.transform.hand.values.assume import assume, independent
from polysched.transform.hand.values.cache import cache_read, cache_write
from polysched.transform.hand.values.compute_at import compute_at
from polysched.transform.hand.values.double_buffer import double_buffer
from polysched.transform.hand.values.inline import inline
from polysched.transform.hand.values.pad import pad
from polysched.transform.hand.values.privatize import privatize
from polysched.transform.hand.values.reverse_compute import reverse_compute_at
from polysched.transform.hand.values.rfactor import rfactor
from polysched.transform.hand.values.set_scope import set_scope

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
    "split",
    "split_set",
    "tensorize",
    "tile",
    "unroll",
    "unroll_and_jam",
    "vectorize",
    "wavefront",
]
