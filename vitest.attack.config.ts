import { defineConfig } from 'vitest/config';

/** Every attempt to forge evidence, slip a limit, leave a sandbox or leak a secret. `npm run attack` runs them as two users. */
export default defineConfig({
  test: {
    include: ['tests/attack/**/*.test.ts', 'tests/conformance/escape.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 20_000 } },
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/attack.json' }]],
  },
});
