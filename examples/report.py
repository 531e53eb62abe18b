"""Counts the orders without an amount, and writes them to output/missing.csv."""
import csv

import proctor_tool


def run_tool(input_dir, output_dir):
    with open(f'{input_dir}/orders.csv', newline='', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    missing = [row for row in rows if not row['amount']]
    with open(f'{output_dir}/missing.csv', 'w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, ['order', 'amount'])
        writer.writeheader()
        writer.writerows(missing)
    print(f'{len(rows)} rows read, {len(missing)} without an amount')
    return f'<p>{len(missing)} of {len(rows)} orders have no amount.</p>'


proctor_tool.run(run_tool)
