"""The mutants can all be applied: what each breaks stands in the code still."""

import pytest

from tools.mutants import MUTANTS, ROOT
from tools.mutants.mutant import Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_breaks_stands_once_in_its_file(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
