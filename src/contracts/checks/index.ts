import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { record } from '../shape.ts';
import { checkListFindings, checkShape, CHECKS_MAX } from './shape.ts';

const checksShape = record({
  /** Optional, because users write these files by hand. */
  schema_version: z.optional(z.literal('checks.v1')),
  checks: z.array(checkShape).check(z.minLength(1), z.maxLength(CHECKS_MAX)),
});

export type ChecksFile = z.infer<typeof checksShape>;

const rule = rulesFor<ChecksFile>();

export const checksFile: Contract = {
  name: 'checks',
  title: 'Checks of an agent run',
  tells: 'Commands that run in the work tree that an agent left, with their limits and hidden files.',
  source: 'Proctor, run agent',
  version: { field: 'schema_version', value: 'checks.v1' },
  shape: checksShape,
  rules: [
    rule({
      id: 'CF1',
      title: 'Checks Version Known',
      why: 'A misspelled key would have no effect, so a hidden test would not run.',
      asks: ['schema_version, if present, is "checks.v1"', NO_UNKNOWN_KEYS],
      fields: ['schema_version'],
      breach: file => ({ ...file, schema_version: 'checks.v9' }),
    }),
    rule({
      id: 'CF2',
      title: 'Every Check Runnable',
      why: 'Each check needs a command and a name of its own, under which its evidence is stored.',
      asks: [
        'checks is a list of 1 to 20 checks; each has command, not blank',
        'name, if present, is 1 to 40 lower-case letters, digits and dashes, and is unique',
        'timeout, if present, is a time such as 5m; memory is a size such as 2g; pids is from 1 to 100,000',
        'overlay, if present, is the path of a folder',
        'paths, if present, lists 1 to 100 relative paths; report is a relative path',
        'keep, if present, lists 1 to 100 relative paths, in which *, ? and ** match names',
      ],
      fields: ['checks'],
      *check({ checks }) {
        yield* checkListFindings(checks, 'checks');
      },
      breach: file => ({ ...file, checks: [] }),
    }),
  ],
  unknownKeys: 'CF1',
  programText: ['checks'],
  beyond: ['whether the commands test what their author meant to test'],
  bytesMax: MIB,
  example: {
    schema_version: 'checks.v1',
    checks: [
      {
        name: 'unit',
        command: 'npm test -- --reporter=junit --outputFile=reports/junit.xml',
        timeout: '2m',
        memory: '1g',
        overlay: 'tests/hidden',
        paths: ['src'],
        report: 'reports/junit.xml',
        keep: ['Makefile'],
      },
      { command: 'npm run lint' },
    ],
  } satisfies ChecksFile,
};
