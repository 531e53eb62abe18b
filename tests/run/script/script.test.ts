import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import type { ScriptOutcome } from '../../../src/contracts/script-outcome/index.ts';
import { publicSentence } from '../../../src/evidence/ingest/reason.ts';
import { JOURNAL, readJournal } from '../../../src/evidence/run-folder/journal.ts';
import { recoverRun } from '../../../src/evidence/recovery/recover.ts';
import { KINDS } from '../../../src/run/kinds.ts';
import { runsIn } from '../../../src/evidence/run-folder/runs.ts';
import type { ScriptLine } from '../../../src/evidence/script/script-run.ts';
import { openLauncher } from '../../../src/execute/launcher/launch.ts';
import type { ScriptOrder } from '../../../src/run/script/order.ts';
import type { RunContext } from '../../../src/run/pipeline/journaled-run.ts';
import { executeScript, type ScriptAnswer } from '../../../src/run/script/script.ts';
import { expectValid, put } from '../../evidence/script/script-world.ts';
import { proveJournal, temporaryFolder } from '../../support/support.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());

const SECRET = 'correct-horse-battery';
const RESULT = `import json
def result(**more):
    value = dict(contract_version=1, status='succeeded', html_output='<p>ok</p>', error_summary=None, artifacts=[])
    value.update(more)
    open('result.json', 'w').write(json.dumps(value))
`;

/** Runs a Python script in a new home. */
async function run(code: string, order: Partial<ScriptOrder> = {}, around: Partial<RunContext> = {}) {
  const folder = temporaryFolder();
  const script = path.join(folder, 'script.py');
  writeFileSync(script, `${RESULT}\n${code}\n`);
  const home = path.join(folder, '.proctor');
  const among = { launcher, home, signer: undefined, ...around };
  const answer: ScriptAnswer | Error = await executeScript({ script, ...order }, among).catch(
    (error: unknown) => error as Error,
  );
  return { answer, home, folder: runsIn(home)[0]?.folder ?? '' };
}

const outcomeIn = (folder: string): ScriptOutcome =>
  JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8')) as ScriptOutcome;

const stages = (): string[] => readdirSync(tmpdir()).filter(name => name.startsWith('proctor-stage-'));

describe.each(['process', 'none'] as const)('with the sandbox %s', sandbox => {
  const bounds = { sandbox };

  test('a script leaves valid evidence with its output and files', async () => {
    const code = `import os\nprint('hello')\nos.makedirs('output/sub', exist_ok=True)\nopen('output/sub/a.txt', 'w').write('aaa')\nresult(artifacts=[dict(path='output/sub/a.txt', bytes=3)])`;
    const { answer, folder } = await run(code, { bounds });
    expect(answer).toMatchObject({
      ending: { how: 'exited', code: 0 },
      reading: { status: 'succeeded', reason: null },
    });
    await expectValid(folder);
    expect(readFileSync(path.join(folder, 'output/sub/a.txt'), 'utf8')).toBe('aaa');
    expect(readFileSync(path.join(folder, 'evidence/steps/script/stdout.txt'), 'utf8')).toBe('hello\n');
    expect(existsSync(path.join(folder, JOURNAL))).toBe(false);
  });

  test('a secret is in no file of the run folder, wherever the script prints it', async () => {
    const code = `import os, sys\ns = os.environ['T']\nprint(s)\nprint(s, file=sys.stderr)\nresult(html_output=s, error_summary=s, status='failed', artifacts=[dict(path='output/' + s, bytes=1)], **{s: 1})`;
    const { answer, folder } = await run(code, { bounds, secrets: { T: SECRET }, args: [SECRET] });
    expect(answer).toMatchObject({ reading: { status: 'failed', reason: 'script_failed' } });
    await expectValid(folder);
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      expect(entry.name).not.toContain(SECRET);
      if (entry.isFile()) expect(readFileSync(file, 'latin1'), entry.name).not.toContain(SECRET);
    }
  });

  test('a secret is in no file of the run folder, however the script encodes it', async () => {
    const secret = `päss/wörd "it's"\n`;
    const code = `import os, base64, json
s = os.environ['T']
for text in [s.strip(), json.dumps(s), json.dumps(json.dumps(s)), base64.encodebytes(b'x' * 50 + s.encode()).decode(), s.encode().hex().upper()]:
    print(text)
open('output/' + s.strip().replace('/', '_'), 'w').write(s)
os.symlink(s.strip(), 'output/link')
result(html_output=s.strip(), error_summary=json.dumps(s), status='failed')`;
    const { answer, folder } = await run(code, { bounds, secrets: { T: secret }, args: [secret.trim()] });
    expect(answer).toMatchObject({ reading: { status: 'failed' } });
    await expectValid(folder);
    const raw = readFileSync(path.join(folder, 'evidence/internal/result.raw'));
    expect(outcomeIn(folder).result).toMatchObject({ sha256: bytesHash(raw), bytes: raw.length });
    // The script encodes it after 50 bytes, so base64 encodes its bytes 1 to 6 as whole groups on the first line.
    const inBase64 = Buffer.from(secret).subarray(1, 7).toString('base64');
    const traces = ['päss/', 'ss/w\\u00f6', 'ss/w\\\\u00f6', 'C3A47373', inBase64];
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = readFileSync(path.join(entry.parentPath, entry.name), 'utf8');
      for (const trace of traces) expect(text, entry.name).not.toContain(trace);
    }
  });

  test('a violation gives one sentence with a reference, and the internal log has the reason', async () => {
    const { answer, folder } = await run(`import os\nos.symlink('/etc/passwd', 'output/link')\nresult()`, { bounds });
    expect(answer).toMatchObject({ reading: { status: 'failed', reason: 'artifact_type_forbidden' } });
    await expectValid(folder);
    const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
    const { error_summary: summary } = JSON.parse(read('result.json')) as { error_summary: string };
    const [, sentence, id] = /^([A-Z][^/]+\.) Reference: ([0-9a-f]{16})\.$/.exec(summary) ?? [];
    expect(sentence).toBe(publicSentence('artifact_type_forbidden'));
    expect(summary).not.toContain('link');
    const errors = read('evidence/internal/log.ndjson')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, string>)
      .filter(({ level }) => level === 'error');
    const detail = 'output/link is neither a file nor a folder';
    expect(errors).toMatchObject([{ code: 'artifact_type_forbidden', detail, correlation_id: id }]);
  });

  test('a script that is stopped leaves evidence of its output so far', async () => {
    const stop = new AbortController();
    const code = `import time\nprint('begun', flush=True)\ntime.sleep(60)`;
    const { answer, folder } = await run(code, { bounds }, { signal: stop.signal, onOutput: () => stop.abort() });
    expect(answer).toMatchObject({ ending: { how: 'killed', by: 'cancel' }, reading: { reason: 'cancelled' } });
    await expectValid(folder);
    expect(readFileSync(path.join(folder, 'evidence/steps/script/stdout.txt'), 'utf8')).toBe('begun\n');
  });

  test.each([
    [
      'at once',
      () => {
        throw new Error('The screen is gone.');
      },
    ],
    ['later', () => Promise.reject(new Error('The screen is gone.'))],
  ])('a callback that fails %s does not stop the run, and its error is thrown at the end', async (_, fail) => {
    let calls = 0;
    const onOutput = () => {
      calls++;
      return fail();
    };
    const code = `import time\nfor number in range(3):\n    print(number, flush=True)\n    time.sleep(0.2)\nopen('output/a.txt', 'w').write('aaa')\nresult(artifacts=[dict(path='output/a.txt', bytes=3)])`;
    const { answer, folder } = await run(code, { bounds }, { onOutput });
    expect(answer).toEqual(new Error('The screen is gone.'));
    expect(calls).toBe(1);
    await expectValid(folder);
    expect(existsSync(path.join(folder, JOURNAL))).toBe(false);
    expect(outcomeIn(folder)).toMatchObject({ status: 'succeeded', reason: null, ending: { how: 'exited', code: 0 } });
    expect(readFileSync(path.join(folder, 'evidence/steps/script/stdout.txt'), 'utf8')).toBe('0\n1\n2\n');
    expect(readFileSync(path.join(folder, 'output/a.txt'), 'utf8')).toBe('aaa');
  });

  test('recovers an interrupted run, and rejects a copy of it', async () => {
    const stop = new AbortController();
    const copy = path.join(temporaryFolder(), 'run');
    let from = '';
    const code = `import time\nprint('begun', flush=True)\ntime.sleep(60)`;
    await run(
      code,
      { bounds },
      {
        signal: stop.signal,
        onFolder: place => {
          from = place.folder;
        },
        onOutput: () => {
          if (!existsSync(copy)) cpSync(from, copy, { recursive: true });
          stop.abort();
        },
      },
    );
    expect(readJournal<ScriptLine>(copy).lines.map(({ is }) => is)).toEqual(['planned', 'started']);
    const sealing = { signer: undefined };
    await expect(recoverRun(copy, KINDS, { nowMs: Date.now(), sealing })).rejects.toMatchObject({
      code: 'not_started_here',
    });
    proveJournal(copy);
    expect(await recoverRun(copy, KINDS, { nowMs: Date.now(), sealing })).toBe('recovered');
    await expectValid(copy);
    expect(outcomeIn(copy)).toMatchObject({ status: 'failed', reason: 'interrupted', ending: { how: 'lost' } });
    expect(readFileSync(path.join(copy, 'evidence/steps/script/stdout.txt'), 'utf8')).toBe('begun\n');
  });

  test("a fault while sealing keeps the script's claim, but the run does not succeed", async () => {
    const { answer, folder } = await run(
      'result()',
      { bounds },
      {
        onFolder: place => put(place.folder, 'evidence/final-state.txt/in-the-way', ''),
      },
    );
    expect(answer).toMatchObject({
      code: 'write_failed',
      message: expect.stringMatching(/could not be written\. .* Run proctor recover to complete it\.$/) as string,
    });
    rmSync(path.join(folder, 'evidence/final-state.txt'), { recursive: true });
    expect(await recoverRun(folder, KINDS, { nowMs: Date.now(), sealing: { signer: undefined } })).toBe('recovered');
    await expectValid(folder);
    expect(outcomeIn(folder)).toMatchObject({ status: 'failed', claimed_status: 'succeeded', reason: 'interrupted' });
  });
});

describe('a refused request', () => {
  test.each([
    ['a missing script', { script: 'no.py' }],
    ['a missing input', { inputs: ['no.csv'] }],
    ['a limit out of range', { bounds: { timeoutMs: 1 } }],
    ['a limit that cannot be enforced', { bounds: { sandbox: 'none', pids: 3 } }],
  ] as const)('for %s leaves nothing in the project', async (_, order) => {
    const { answer, home } = await run('result()', order);
    expect(answer).toMatchObject({ name: 'Fault' });
    expect(readdirSync(path.dirname(home))).toEqual(['script.py']);
  });
});

test('a finished run leaves no stage', async () => {
  const { answer } = await run('result()', { bounds: { sandbox: 'none' } });
  const id = 'place' in answer ? answer.place.id : '';
  expect(id).not.toBe('');
  expect(stages().filter(name => name.includes(id))).toEqual([]);
});

test('a home that cannot be created is a fault', async () => {
  const file = path.join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  const { answer } = await run('result()', { bounds: { sandbox: 'none' } }, { home: path.join(file, '.proctor') });
  expect(answer).toMatchObject({
    code: 'folder_failed',
    message: expect.stringMatching(/^The run folder could not be created here\. /) as string,
  });
});
