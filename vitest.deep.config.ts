import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    setupFiles: ['tests/support/state-setup.ts'],
    include: ['tests/deep/**/*.test.ts'],
    // `npm run attack` runs these.
    exclude: ['tests/deep/*-hostile.test.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    // Large pages take long to render on a slow machine.
    expect: { poll: { timeout: 60_000 } },
    // Tests mostly wait for programs, and each test uses only its own folders. With two workers, two cores are half idle.
    maxWorkers: 3,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/deep.json' }]],
  },
});
