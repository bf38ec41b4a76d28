"""How good the kit is: the scorecard, mutants, and checks of the library of mistakes."""
