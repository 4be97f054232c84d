"""Tests of how mutants are applied to a source file."""
import unittest

from mutants import BadMutant, Mutant, place, with_mutants
from run import failed_test


def mutant(number: int, find: str, replace: str) -> Mutant:
    return Mutant(number, f"mutant-{number}", "A bug.", "a.cpp", find, replace, ("a_test",))


class Applying(unittest.TestCase):
    def test_each_mutant_is_selected_by_its_number(self):
        text = "int f() { return 1; }\nint g() { return 2; }\n"
        changed = with_mutants(text, [mutant(2, "return 2", "return MUTANT ? 3 : 2"), mutant(1, "return 1", "return MUTANT ? 0 : 1")])
        self.assertEqual(changed, '#include "mutation_switch.hpp"\n'
                         "int f() { return (::mutation::active == 1) ? 0 : 1; }\n"
                         "int g() { return (::mutation::active == 2) ? 3 : 2; }\n")

    def test_a_text_that_occurs_twice_or_never_is_refused(self):
        for text, count in (("a; a;", 2), ("b;", 0)):
            with self.assertRaisesRegex(BadMutant, f"mutant-1: a.cpp contains its text {count} times"):
                place(mutant(1, "a", "MUTANT"), text)

    def test_overlapping_mutants_are_refused(self):
        with self.assertRaisesRegex(BadMutant, "overlaps"):
            with_mutants("one two three", [mutant(1, "one two", "MUTANT"), mutant(2, "two three", "MUTANT")])


class Outputs(unittest.TestCase):
    def test_the_failed_test_is_named(self):
        self.assertEqual(failed_test("[ RUN      ] A.b\n[  FAILED  ] A.b (3 ms)\n"), "A.b")
        self.assertEqual(failed_test("FAILED test_worker.py::test_one - AssertionError\n"), "test_worker.py::test_one")
        self.assertEqual(failed_test("replay: build/release/bin/simulate --seed 17\n"), "simulate --seed 17")
        self.assertEqual(failed_test("[ RUN      ] A.b\nterminate called\n"), "A.b (aborted)")
        self.assertIsNone(failed_test("no test ran"))
