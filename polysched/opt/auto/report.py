"""What became of the loops of some files, as text and as JSON.

    cg.c: 3 of 12 nests taken
      12:5: for in conj_grad: taken: 3 loops, 1 parallel; predicted 1.2 ms in place of 3.1 ms
      30:5: for in main: refused: the call of 'f' may write memory (/src/f.c:31:9)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from polysched.opt.auto.verdict import Verdict
from polysched.opt.auto.whole import Whole


def report_text(found: Mapping[str, Whole | str]) -> str:
    """A paragraph for each file; a str is why one is not read."""
    return "\n".join(line for file, whole in found.items() for line in _lines(file, whole)) + "\n"


def _lines(file: str, whole: Whole | str) -> Iterator[str]:
    if isinstance(whole, str):
        yield f"{file}: not read: {whole.partition(chr(10))[0]}"
        return
    nests = _tried(whole)
    yield f"{file}: {sum(nest.how == 'taken' for nest in nests)} of {len(nests)} nests taken"
    yield from (f"  {nest}" for nest in nests)


def _tried(whole: Whole) -> list[Verdict]:
    return [verdict for verdict in whole.verdicts if verdict.how != "inside"]


def report_json(found: Mapping[str, Whole | str]) -> str:
    """{"cg.c": {"loops": [{"line": 12, "column": 5, "how": "taken", ...}, ...]}, "bad.c": {"error": "..."}}"""
    files = {
        file: {"error": whole} if isinstance(whole, str) else {"loops": [asdict(each) for each in whole.verdicts]}
        for file, whole in found.items()
    }
    return json.dumps(files, indent=1) + "\n"
