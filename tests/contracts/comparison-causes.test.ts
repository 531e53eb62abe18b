import { describe, expect, test } from 'vitest';
import { comparison } from '../../src/contracts/comparison/index.ts';
import { exampleWith, judged, rulesOf } from '../support/support.ts';

describe('the comparison contract', () => {
  const FIELD = { field: 'provenance.model', baseline: 'one', new: 'other' };
  const cites = ['baseline:events[1]', 'new:events[1]'];
  const at = 'cases.0.divergence';
  const rows: [string, Record<string, unknown>, string[]][] = [
    ...['tool_order', 'tool_concurrency', 'tool_duplicate', 'tool_retry'].flatMap(
      (kind): [string, Record<string, unknown>, string[]][] => [
        [`accepts the cause ${kind}`, { [`${at}.kind`]: kind }, []],
        [
          `rejects high confidence for the cause ${kind}`,
          { [`${at}.kind`]: kind, [`${at}.confidence`]: 'high' },
          ['CM10'],
        ],
      ],
    ),
    ['rejects the cause model without the field that differs', { [`${at}.kind`]: 'model' }, ['CM10']],
    [
      'accepts the cause model with the field that differs',
      {
        'comparability.state': 'drift',
        'comparability.fields': [FIELD],
        [`${at}.kind`]: 'model',
        [`${at}.cites`]: ['comparability.fields[0]', ...cites],
      },
      [],
    ],
  ];
  test.each(rows)('%s', async (_, over, rules) => {
    expect(rulesOf(await judged(comparison, exampleWith(comparison, over)))).toEqual(rules);
  });
});
