import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Fault } from '../../src/base/fault.ts';
import { runScript, type RunScriptOptions } from '../../src/tool/run-script.ts';
import { temporaryFolder } from '../support.ts';

/** What is said instead of running, and that nothing was made for it. */
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

describe('a call of the library', () => {
  test.each([
    ['timeout', 'timeout'],
    ['timeoutMS', 'timeoutMS'],
    ['constructor', 'constructor'],
    ['\u001b[31m', '\\u{1b}[31m'],
  ])('with the option %j, which is not known, is refused: it would bound nothing', async (key, shown) => {
    const { cwd, script } = world();
    const said = await refusal({ script, cwd, [key]: 1 }, cwd);
    expect(said).toMatch(/^usage: runScript does not know the option "[^"]+"\. There are: script, inputs, args, /);
    expect(said).toContain(`"${shown}"`);
    for (const known of ['timeoutMs', 'memoryBytes', 'pids', 'signal', 'onOutput']) expect(said).toContain(` ${known}`);
  });

  test('refuses an unknown option also where its value is nothing', async () => {
    const { cwd, script } = world();
    expect(await refusal({ script, cwd, isolated: undefined }, cwd)).toMatch(/does not know the option "isolated"/);
  });

  test.each([
    ['no options', undefined],
    ['null', null],
    ['no script', {}],
    ['a script that is nothing', { script: undefined }],
    ['a script that is a list', { script: ['ok.py'] }],
    ['a script that is an address', { script: new URL('file:///ok.py') }],
  ])('with %s is refused', async (_, options) => {
    const { cwd } = world();
    const given = options && { cwd, ...options };
    expect(await refusal(given, cwd)).toBe('usage: runScript needs script: the path of a file.');
  });

  test('with a script that does not exist is refused', async () => {
    const { cwd } = world();
    expect(await refusal({ script: path.join(cwd, 'no.py'), cwd }, cwd)).toBe(
      'usage: The script no.py does not exist.',
    );
  });
});
