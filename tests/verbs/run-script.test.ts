import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { runScript, type RunScriptOptions } from '../../src/verbs/run-script.ts';
import { temporaryFolder } from '../support/support.ts';

/** The fault instead of a run. Checks that nothing was written. */
async function refusal(options: unknown, cwd: string): Promise<string> {
  try {
    await runScript(options as RunScriptOptions);
  } catch (fault) {
    expect(existsSync(path.join(cwd, '.proctor'))).toBe(false);
    if (fault instanceof Fault) return `${fault.code}: ${fault.message}`;
    throw fault;
  }
  return 'accepted';
}

function world(): { cwd: string; script: string } {
  const cwd = temporaryFolder();
  const script = path.join(cwd, 'ok.py');
  writeFileSync(script, 'print()\n');
  return { cwd, script };
}

describe('runScript', () => {
  test.each([
    ['timeout', 'timeout'],
    ['timeoutMS', 'timeoutMS'],
    ['constructor', 'constructor'],
    ['\u001b[31m', '\\u{1b}[31m'],
  ])('rejects the unknown option %j, which would limit nothing', async (key, shown) => {
    const { cwd, script } = world();
    const said = await refusal({ script, cwd, [key]: 1 }, cwd);
    expect(said).toMatch(/^usage: runScript has no option "[^"]+"\. Options: script, inputs, args, /);
    expect(said).toContain(`"${shown}"`);
    for (const known of ['timeoutMs', 'memoryBytes', 'pids', 'signal', 'onOutput']) expect(said).toContain(` ${known}`);
  });

  test('rejects an unknown option even if its value is undefined', async () => {
    const { cwd, script } = world();
    expect(await refusal({ script, cwd, isolated: undefined }, cwd)).toMatch(/has no option "isolated"/);
  });

  test.each([
    ['no options', undefined],
    ['null', null],
    ['no script', {}],
    ['an undefined script', { script: undefined }],
    ['a script that is a list', { script: ['ok.py'] }],
    ['a script that is a URL', { script: new URL('file:///ok.py') }],
  ])('rejects %s', async (_, options) => {
    const { cwd } = world();
    const given = options && { cwd, ...options };
    expect(await refusal(given, cwd)).toBe('usage: runScript requires script: the path of a file.');
  });

  test('rejects a script that does not exist', async () => {
    const { cwd } = world();
    expect(await refusal({ script: path.join(cwd, 'no.py'), cwd }, cwd)).toBe(
      'usage: The script no.py does not exist.',
    );
  });
});
