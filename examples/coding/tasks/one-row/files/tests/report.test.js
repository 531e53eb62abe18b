import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drafts, orders, refunds } from '../src/report.js';

test('prints an order', () => {
  assert.equal(orders([{ id: 'A-1', customer: 'Kim', total: 12.5 }]), 'A-1  Kim                12.50\n');
});

test('prints a refund as a negative amount', () => {
  assert.equal(refunds([{ id: 'A-1', customer: 'Kim', total: 12.5 }]), 'A-1  Kim               -12.50\n');
});

test('prints a draft without a customer', () => {
  assert.equal(drafts([{}]), 'draft  absent                 ?\n');
});
