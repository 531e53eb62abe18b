import { describe } from 'vitest';
import { tryCoding } from './coding.ts';
import { agentsFolder } from './world.ts';

describe.runIf(agentsFolder !== '')('the coding tasks, with the real agents', () => {
  tryCoding(() => agentsFolder);
});
