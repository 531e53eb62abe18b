import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    setupFiles: ['tests/support/state-setup.ts'],
    include: ['tests/deep/**/*.test.ts'],
    // `npm run attack` runs these.
    exclude: ['tests/deep/*-hostile.test.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    // What a page must come to show, it may take its time for: machines are slow, and pages are large.
    expect: { poll: { timeout: 60_000 } },
    // Most of the time is spent waiting for programs, and none of them looks at what is not its own.
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/deep.json' }]],
  },
});
