import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/deep/**/*.test.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    expect: { poll: { timeout: 20_000 } },
    fileParallelism: false,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/deep.json' }]],
  },
});
