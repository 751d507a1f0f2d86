"""What all tests share: whole texts to compare with, a cache of compiled programs, and which cases are slow."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from quick import quick_cases

from polysched.model.instructions import own

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what is generated to tests/golden; review it")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("gemm.c", text)` fails unless tests/golden/gemm.c holds exactly this text."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text)
        assert path.exists(), f"there is no tests/golden/{name}; run pytest --update-golden, and review it"
        assert text == path.read_text(), f"tests/golden/{name} differs; if that is meant, run pytest --update-golden"

    return check


@pytest.fixture(autouse=True)
def _instructions_of_its_own() -> Iterator[None]:
    """A test knows no instructions but those that it defines."""
    yield
    own.INSTRUCTIONS.clear()


def pytest_configure() -> None:
    """A shell ignores Ctrl-C in what it starts in the background, and so would all that the tests start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as slow all but the first cases of the tests in quick_cases.txt."""
    left = dict(quick_cases())
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in left:
            left[name] -= 1
            if left[name] < 0:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory):
    """A cache of their own, and what each step gives is checked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLYSCHED_VERIFY", "1")
        patch.setenv("POLYSCHED_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
