import { describe, expect, test } from 'vitest';
import { agentVersion } from '../../src/execute/served/agent-version.ts';
import { allGone, processesWith } from '../conformance/support.ts';
import { agentOf } from '../execute/served/served-world.ts';

const context = { environment: process.env, secrets: ['hunter2-hunter2'] };
const shell = (script: string) => ({ run: ['/bin/sh', '-c', script] });

describe('the version', () => {
  test.each([
    ['the first line of standard output', 'echo warning >&2; echo " v1.2.3 "; echo more', 'v1.2.3'],
    ['masked', 'echo "1 hunter2-hunter2"', '1 [masked]'],
    ['cut to 200 characters', `printf "%0300d" 0`, '0'.repeat(200)],
    ['safe for a terminal', `printf '1\\033[2J'`, '1\\u{1b}[2J'],
    ['not expanded by a shell', `printf '%s' '$(echo 1)'`, '$(echo 1)'],
    ['printed by a command with its own variables', 'echo "$TAG"', 'blue'],
  ])('is %s', async (_, script, version) => {
    expect(await agentVersion({ ...shell(script), env: { TAG: 'blue' } }, context)).toEqual({ version });
  });

  test.each([
    ['a command that fails', 'echo 1; exit 4', 'The version command exited with code 4.'],
    ['a command that a signal ends', 'kill -9 $$', 'The version command was ended by SIGKILL.'],
    ['no output', 'echo 1 >&2', 'The version command printed no version in its first line.'],
    ['an empty first line', 'echo; echo 1', 'The version command printed no version in its first line.'],
    ['too much output', 'echo 1; head -c 70000 /dev/zero', 'The version command printed more than 64 KiB.'],
  ])('is unknown after %s', async (_, script, reason) => {
    expect(await agentVersion(shell(script), context)).toEqual({ version: null, reason });
  });

  test('is unknown without the program', async () => {
    expect(await agentVersion({ run: ['no-such-program-anywhere'] }, context)).toEqual({
      version: null,
      reason: 'The program "no-such-program-anywhere" was not found in PATH.',
    });
  });

  test('is unknown if the command does not end in time, and no process is left', async () => {
    const agent = agentOf(`spawn('/usr/bin/setsid', asleep, { stdio: 'ignore' }); console.log('1');`);
    expect(await agentVersion(agent, context)).toEqual({
      version: null,
      reason: 'The version command did not end within 10 s.',
    });
    expect(processesWith(agent.word)).toEqual([]);
  });

  test('is not requested after the run was cancelled, and a running command is stopped', async () => {
    const agent = agentOf(`spawn('/usr/bin/setsid', asleep, { stdio: 'ignore' });`);
    const cancelling = new AbortController();
    const asked = agentVersion(agent, { ...context, signal: cancelling.signal });
    asked.catch(() => undefined);
    await expect.poll(() => processesWith(agent.word).length).toBeGreaterThan(0);
    cancelling.abort();
    await expect(asked).rejects.toMatchObject({ code: 'cancelled' });
    await allGone(agent.word);
    await expect(agentVersion(agent, { ...context, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
    });
    expect(processesWith(agent.word)).toEqual([]);
  });
});
