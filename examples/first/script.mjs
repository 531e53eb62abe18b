// An example script: it adds up the amounts of a case. Replace it with your own, or break it to see a failing test:
// change 100 to 10 in the next line, and run `proctor test` again.
const CENTS_PER_EUR = 100;

import { readFileSync, writeFileSync } from 'node:fs';

// Proctor starts the script once for every case, in a sandbox without a network.
const { input } = JSON.parse(readFileSync('input/case.json', 'utf8'));
const amounts = input.context?.amounts_cents ?? [];
const cents = amounts.reduce((sum, amount) => sum + amount, 0);
const content = amounts.length === 0 ? 'There is nothing to pay.' : `The total is ${cents / CENTS_PER_EUR} EUR.`;

writeFileSync('output/reply.json', JSON.stringify({ final_output: { content_type: 'text', content } }));
