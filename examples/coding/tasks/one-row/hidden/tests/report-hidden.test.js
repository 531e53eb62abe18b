import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { drafts, orders, refunds } from '../src/report.js';

const LONG = { id: 'A-2', customer: 'Maximiliane Overbeck', total: 1_234_567.891 };
const WIDE = { id: 'A-3', customer: 'Twelve chars', total: 12_345_678_901 };

test('cuts a long name, and keeps one that just fits', () => {
  assert.equal(orders([LONG, WIDE]), 'A-2  Maximiliane…  1234567.89\nA-3  Twelve chars  12345678901.00\n');
});

test('keeps the signs of refunds', () => {
  assert.equal(refunds([{ id: 'R', customer: 'Jo', total: -3 }]), 'R  Jo                  3.00\n');
  assert.equal(refunds([{ id: 'R', customer: 'Jo', total: 0 }]), 'R  Jo                  0.00\n');
});

test('keeps an empty customer, and replaces only a missing one', () => {
  assert.equal(
    drafts([{ customer: '', total: 0 }, { customer: null }]),
    `draft  ${' '.repeat(20)}0.00\ndraft  absent                 ?\n`,
  );
});

test('prints nothing for no items', () => {
  assert.equal(orders([]) + refunds([]) + drafts([]), '');
});

test('cuts and pads in one place', () => {
  const code = readFileSync(new URL('../src/report.js', import.meta.url), 'utf8');
  assert.ok(code.split('…').length <= 2, 'the code cuts names in more than one place');
  assert.ok((code.match(/toFixed/g) ?? []).length <= 1, 'the code formats amounts in more than one place');
});
