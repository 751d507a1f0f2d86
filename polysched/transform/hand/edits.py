"""All edits by hand: to import them registers them (`registry.py`)."""

from polysched.transform.hand.assume import assume, independent
from polysched.transform.hand.bind import bind
from polysched.transform.hand.cache import cache_read, cache_write
from polysched.transform.hand.compute_at import compute_at
from polysched.transform.hand.cyclic import cyclic
from polysched.transform.hand.diamond import diamond
from polysched.transform.hand.distribute import distribute
from polysched.transform.hand.double_buffer import double_buffer
from polysched.transform.hand.fuse import fuse
from polysched.transform.hand.inline import inline
from polysched.transform.hand.pad import pad
from polysched.transform.hand.parallel import parallel
from polysched.transform.hand.peel import peel
from polysched.transform.hand.privatize import privatize
from polysched.transform.hand.product import product
from polysched.transform.hand.reorder import interchange, reorder
from polysched.transform.hand.reverse import reverse
from polysched.transform.hand.reverse_compute import reverse_compute_at
from polysched.transform.hand.rfactor import rfactor
from polysched.transform.hand.separate import separate
from polysched.transform.hand.set_scope import set_scope
from polysched.transform.hand.shift import shift
from polysched.transform.hand.skew import skew
from polysched.transform.hand.split import split
from polysched.transform.hand.split_set import split_set
from polysched.transform.hand.tensorize import tensorize
from polysched.transform.hand.tile import tile
from polysched.transform.hand.unroll import unroll, unroll_and_jam
from polysched.transform.hand.vectorize import vectorize
from polysched.transform.hand.wavefront import wavefront

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
