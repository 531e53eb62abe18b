import { expect, test } from 'vitest';
import { attemptRequest } from '../../src/contracts/attempt-request/index.ts';
import { check } from '../../src/contracts/check.ts';

test.each([[{ toString: {} }], [null], [7], [undefined]])('the id %j of a case is a violation', id => {
  const { case: one, ...others } = attemptRequest.example as { case: object };
  const { violations } = check(attemptRequest, { ...others, case: { ...one, id } }, { strict: true, internal: false });
  expect(violations.map(({ rule_id }) => rule_id)).toContain('AQ2');
});
