import { defineConfig } from 'vitest/config';

/** Attack tests outside `tests/attack`. */
const HELD_ELSEWHERE = [
  'tests/cli/foreign.test.ts',
  'tests/conformance/escape.test.ts',
  'tests/deep/cli-hostile.test.ts',
  'tests/deep/judge-hostile.test.ts',
  'tests/deep/pages-hostile.test.ts',
  'tests/deep/run-suite-cases-hostile.test.ts',
  'tests/evidence/ingest/output.test.ts',
  'tests/verify/signatures.test.ts',
];

/** Attempts to forge evidence, evade limits, escape sandboxes or leak secrets. `npm run attack` runs them as two users. */
export default defineConfig({
  test: {
    setupFiles: ['tests/support/state-setup.ts'],
    include: ['tests/attack/**/*.test.ts', ...HELD_ELSEWHERE],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 20_000 } },
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/attack.json' }]],
  },
});
