from polysched.ir.available import Available


def test_an_inner_block_sees_the_outer_and_is_forgotten():
    table: Available[str] = Available()
    table.add("x", "outer")
    with table.block():
        assert table.find("x") == "outer"
        table.add("x", "inner")
        table.add("y", "inner")
        assert table.find("x") == "inner"
    assert (table.find("x"), table.find("y")) == ("outer", None)


def test_stamps_differ_after_writes_and_between_blocks():
    table: Available[str] = Available()
    before = table.stamp("a")
    table.write("b")
    assert table.stamp("a") == before
    with table.block():
        first = table.stamp("a")
    with table.block():
        assert len({before, first, table.stamp("a")}) == 3
    assert table.stamp("a") == before
    table.write("a")
    written = table.stamp("a")
    table.write_all()
    assert len({before, written, table.stamp("a")}) == 3
