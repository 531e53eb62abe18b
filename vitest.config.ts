import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    setupFiles: ['tests/support/state-setup.ts'],
    include: ['tests/**/*.test.ts'],
    exclude: ['tests/attack/**', 'tests/deep/**', 'tests/real-agents/**'],
    // Tests mostly wait for programs, so two workers help even on two cores. The default would be one.
    maxWorkers: 2,
    // At least ten times what any test needs, because a busy machine can be several times slower.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // The default of one second is too short on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/check.json' }]],
  },
});
