"""Amounts of money, as strings such as "12.50"."""


def add_tax(net, percent):
    """Return the price with tax, in the same form."""
    return f"{round(float(net) * (1 + float(percent) / 100), 2):.2f}"


def split(total, parts):
    """Return the amount as a list of `parts` amounts."""
    share = round(float(total) / parts, 2)
    return [f"{share:.2f}"] * parts
