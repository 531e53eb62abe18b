import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    setupFiles: ['tests/support/state-setup.ts'],
    include: ['tests/real-agents/**/*.test.ts'],
    globalSetup: ['tests/real-agents/setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Agents mostly wait for their model.
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/agents.json' }]],
  },
});
