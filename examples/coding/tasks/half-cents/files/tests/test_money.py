import unittest

from src.money import add_tax, split


class Money(unittest.TestCase):
    def test_adds_tax(self):
        self.assertEqual(add_tax("100.00", "19"), "119.00")

    def test_rounds_half_a_cent_up(self):
        self.assertEqual(add_tax("1.00", "0.5"), "1.01")

    def test_splits_without_losing_a_cent(self):
        self.assertEqual(split("10.00", 3), ["3.34", "3.33", "3.33"])


if __name__ == "__main__":
    unittest.main()
