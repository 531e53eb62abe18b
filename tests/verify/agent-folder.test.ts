import { expect, test } from 'vitest';
import { agentFolder } from '../evidence/agent-world.ts';
import { troublesIn } from '../evidence/script-world.ts';
import { temporaryFolder } from '../support.ts';

test('the folder of an agent verifies', async () => {
  expect(await troublesIn(await agentFolder(temporaryFolder()))).toEqual([]);
});
