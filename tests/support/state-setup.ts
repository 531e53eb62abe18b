import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { useStateFolder } from '../../src/base/state-folder.ts';

// Keeps tests out of the user's state folder. Child processes inherit the variable.
const states = mkdtempSync(path.join(tmpdir(), 'proctor-state-'));
process.env['XDG_STATE_HOME'] = states;
useStateFolder(path.join(states, 'proctor'));
afterAll(() => rmSync(states, { recursive: true, force: true }));
