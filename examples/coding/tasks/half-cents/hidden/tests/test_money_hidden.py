import unittest
from decimal import Decimal

from src.money import add_tax, split


class HiddenMoney(unittest.TestCase):
    def test_rounds_half_a_cent_up_where_floats_do_not(self):
        self.assertEqual(add_tax("2.50", "7"), "2.68")
        self.assertEqual(add_tax("1.15", "10"), "1.27")

    def test_rounds_half_a_cent_of_a_refund_away_from_zero(self):
        self.assertEqual(add_tax("-0.50", "5"), "-0.53")

    def test_keeps_large_amounts_exact(self):
        self.assertEqual(add_tax("90071992547409.93", "0"), "90071992547409.93")

    def test_gives_the_first_parts_the_remaining_cents(self):
        self.assertEqual(split("0.05", 4), ["0.02", "0.01", "0.01", "0.01"])

    def test_splits_a_refund(self):
        self.assertEqual(split("-0.05", 2), ["-0.03", "-0.02"])

    def test_the_parts_add_up(self):
        for cents in range(0, 500, 7):
            total = f"{cents // 100}.{cents % 100:02d}"
            for parts in range(1, 8):
                self.assertEqual(sum(map(Decimal, split(total, parts))), Decimal(total))


if __name__ == "__main__":
    unittest.main()
