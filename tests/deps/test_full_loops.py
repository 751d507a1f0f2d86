from polysched.deps.legality import outside_of_full_loops
from polysched.model.tree.nodes import Band, Domain, Filter, Full, InOrder, Member, Unroll, marked_as
from polysched.support import isl

DOMAIN = isl.UnionSet("{ S[i] : 0 <= i < 8; T[i] : 0 <= i < 8 }")


def outside(value: str, size: int) -> str:
    """Instances of S[i] that a loop over `value` does not reach; T is elsewhere."""
    both = Member(isl.UnionMap(f"{{ S[i] -> [{value}]; T[i] -> [{value}] }}"))
    full = marked_as(marked_as(Band((both,)), Full(size)), Unroll())
    branches = (Filter(isl.UnionSet("{ S[i] }"), full), Filter(isl.UnionSet("{ T[i] }")))
    (found,) = outside_of_full_loops(Domain(DOMAIN, InOrder(branches)), DOMAIN)
    return str(found)


def test_values_from_0_to_the_size():
    assert outside("i mod 4", 4) == "{  }"
    assert outside("i", 8) == "{  }"


def test_values_before_and_after():
    assert outside("i", 6) == "{ S[i] : 6 <= i <= 7 }"
    assert outside("i - 1", 8) == "{ S[i = 0] }"
