import { defineConfig } from 'vitest/config';

/** Hostile attempts that stand beside the rest of what is asked of their subject. */
const HELD_ELSEWHERE = [
  'tests/cli/foreign.test.ts',
  'tests/conformance/escape.test.ts',
  'tests/deep/cli-hostile.test.ts',
  'tests/deep/judge-hostile.test.ts',
  'tests/deep/run-suite-cases-hostile.test.ts',
  'tests/evidence/ingest/output.test.ts',
  'tests/verify/signatures.test.ts',
];

/** Every attempt to forge evidence, slip a limit, leave a sandbox or leak a secret. `npm run attack` runs them as two users. */
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
