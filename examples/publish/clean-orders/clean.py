import csv
import html
import json
import os
from collections import defaultdict
from decimal import Decimal, InvalidOperation

import proctor_tool


def run_tool(input_dir, output_dir):
    with open(os.path.join(input_dir, 'inputs.json'), encoding='utf-8') as file:
        inputs = json.load(file)

    print('PROGRESS 10% reading the list', flush=True)
    with open(inputs['orders']['path'], newline='', encoding='utf-8-sig') as file:
        table = csv.DictReader(file)
        rows = list(table)
        columns = table.fieldnames or []
    for column in ('date', 'amount'):
        if column not in columns:
            raise proctor_tool.UserError(f'The list has no column named {column}.')

    print('PROGRESS 50% cleaning', flush=True)
    least = Decimal(str(inputs['least'] or 0))
    kept = [row for row in rows if is_wanted(row, inputs['since'], least)]
    sums = defaultdict(Decimal)
    for row in kept:
        sums[row['date'][:7]] += Decimal(row['amount'])

    with open(os.path.join(output_dir, 'orders.csv'), 'w', newline='', encoding='utf-8') as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(kept)

    print('PROGRESS 90% writing the page', flush=True)
    with open(os.path.join(input_dir, 'summary.html'), encoding='utf-8') as file:
        template = file.read()
    lines = ''.join(f'<tr><td>{html.escape(month)}<td>{total}' for month, total in sorted(sums.items()))
    return (
        template.replace('{heading}', html.escape(inputs['heading'] or ''))
        .replace('{currency}', inputs['currency'])
        .replace('{lines}', lines)
        .replace('{left_out}', str(len(rows) - len(kept)))
    )


def is_wanted(row, since, least):
    try:
        amount = Decimal(row['amount'])
    except (InvalidOperation, TypeError):
        return False
    return amount >= least and (since is None or row['date'] >= since)


proctor_tool.run(run_tool)
