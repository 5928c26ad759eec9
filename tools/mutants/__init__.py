"""Mutants: each breaks one line of the code. `python -m tools.mutants` runs them."""

from pathlib import Path

from tools.mutants.mutant import Mutant
from tools.mutants.of_data import DATA_MUTANTS
from tools.mutants.of_programs import PROGRAM_MUTANTS

ROOT = Path(__file__).resolve().parents[2]
MUTANTS: tuple[Mutant, ...] = (*DATA_MUTANTS, *PROGRAM_MUTANTS)
