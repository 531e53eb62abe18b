import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    setupFiles: ['tests/support/state-setup.ts'],
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/attack/**', 'tests/deep/**', 'tests/real-agents/**'],
    // One less than there are cores would be one on two cores, and most of the time is spent waiting for programs.
    maxWorkers: 2,
    // No test takes a tenth of it. A machine that is busy with others may be several times as slow.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // A second is too little where others use the machine as well.
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/check.json' }]],
  },
});
