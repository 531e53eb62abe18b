// Prints how many tests passed, failed and were skipped in the last runs of `npm test`, `attack`, `test:deep` and `test:agents` together.
import { readFileSync } from 'node:fs';

const counts = { passed: 0, failed: 0, skipped: 0 };
for (const name of ['check', 'attack', 'attack-user', 'deep', 'agents']) {
  try {
    const results = JSON.parse(readFileSync(`node_modules/.vitest/${name}.json`, 'utf8'));
    counts.passed += results.numPassedTests;
    counts.failed += results.numFailedTests;
    counts.skipped += results.numPendingTests + results.numTodoTests;
  } catch {
    // That run did not finish; its exit code shows that.
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
