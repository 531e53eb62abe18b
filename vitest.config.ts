import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/deep/**', 'tests/real-agents/**'],
    // One less than there are cores would be one on two cores, and most of the time is spent waiting for programs.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A second is too little where others use the machine as well.
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/check.json' }]],
  },
});
