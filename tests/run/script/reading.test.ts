import { readFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import type { Ending } from '../../../src/contracts/ending.ts';
import type { ScriptResult } from '../../../src/contracts/script-result/index.ts';
import type { OutputReading } from '../../../src/evidence/ingest/output.ts';
import { breach } from '../../../src/evidence/ingest/reason.ts';
import { readResult, type ResultReading } from '../../../src/evidence/ingest/result.ts';
import type { ScriptReading } from '../../../src/evidence/script/script-run.ts';
import { DEFAULT_CAPS } from '../../../src/policy/caps.ts';
import { type Facts, scriptReading } from '../../../src/run/script/reading.ts';
import { captureOf, CORRELATION, expectValid, finishRun, put } from '../../evidence/script/script-world.ts';
import { temporaryFolder } from '../../support/support.ts';

const FILES = { 'output/a.txt': 'aaa', 'output/sub/b.txt': 'bb' };

function claims(changes: Partial<ScriptResult>, unknown_keys: string[] = []): ResultReading {
  const value: ScriptResult = {
    contract_version: 1,
    status: 'succeeded',
    html_output: '<p>Hi</p>',
    error_summary: null,
    artifacts: [],
    ...changes,
  };
  const bytes = Buffer.from(JSON.stringify(value));
  return { ok: true, value, bytes, sha256: bytesHash(bytes), notes: { unknown_keys } };
}

const stored = (files: Record<string, string>): OutputReading => ({
  ok: true,
  files: Object.entries(files).map(([file, text]) => ({ path: file, bytes: text.length, sha256: bytesHash(text) })),
  bytesTotal: Object.values(files).join('').length,
  notes: { hidden: [], emptyFoldersDropped: 0 },
});

const RESULTS = {
  succeeded: claims({}),
  failed: claims({ status: 'failed', error_summary: 'Row 7 has no price.' }),
  timed_out: claims({ status: 'timed_out', error_summary: 'The shop did not answer.' }),
  missing: breach('result_missing', 'there is no result.json'),
} satisfies Record<string, ResultReading>;

const OUTPUTS: Record<'files' | 'empty' | 'bad', OutputReading> = {
  files: stored(FILES),
  empty: stored({}),
  bad: { ...breach('artifact_type_forbidden', 'output/x is a link'), seen: { files: 1, bytes: 1 } },
};

const read = (facts: Partial<Facts>): ScriptReading =>
  scriptReading({
    ending: { how: 'exited', code: 0 },
    result: RESULTS.succeeded,
    output: OUTPUTS.empty,
    flagged: [],
    secrets: [],
    caps: DEFAULT_CAPS,
    correlationId: CORRELATION,
    ...facts,
  });

/** The run folder for a reading. */
async function folderOf(
  reading: ScriptReading,
  ending: Ending,
  files: Record<string, string> = FILES,
): Promise<string> {
  const folder = temporaryFolder();
  const isKept = reading.files.length > 0;
  if (isKept) for (const [file, text] of Object.entries(files)) put(folder, file, text);
  await finishRun(folder, captureOf(ending), reading);
  return folder;
}

/** Endings that override the script: status, reason, and timeout source. */
const DECIDED: [Ending, string, string, string | null, string][] = [
  [
    { how: 'killed', by: 'timeout', signal: 'SIGKILL' },
    'timed_out',
    'wall_timeout',
    'proctor',
    'The run exceeded its time limit.',
  ],
  [
    { how: 'killed', by: 'idle', signal: 'SIGTERM' },
    'timed_out',
    'idle_timeout',
    'proctor',
    'The run printed nothing for too long and was stopped.',
  ],
  [
    { how: 'killed', by: 'cpu', signal: 'SIGTERM' },
    'timed_out',
    'cpu_timeout',
    'proctor',
    'The run exceeded its CPU time limit.',
  ],
  [{ how: 'killed', by: 'cancel', signal: 'SIGTERM' }, 'failed', 'cancelled', null, 'The run was cancelled.'],
  [
    { how: 'killed', by: 'policy', signal: 'SIGKILL' },
    'failed',
    'policy',
    null,
    'The run violated its policy and was stopped.',
  ],
  [{ how: 'out_of_memory', code: 137 }, 'failed', 'oom_killed', null, 'The run exceeded its memory limit.'],
  [{ how: 'out_of_memory', code: 0 }, 'failed', 'oom_killed', null, 'The run exceeded its memory limit.'],
  [{ how: 'signalled', signal: 'SIGSEGV' }, 'failed', 'killed_by_signal', null, 'The run crashed.'],
  [{ how: 'not_started', code: 127 }, 'failed', 'not_started', null, 'The program could not be started.'],
  [{ how: 'lost' }, 'failed', 'interrupted', null, 'Proctor was interrupted before the run was complete.'],
];

describe('after the ending', () => {
  test.each(DECIDED)("%j, the script's claim is ignored", async (ending, status, reason, timeoutSource, message) => {
    for (const [name, result] of Object.entries(RESULTS)) {
      for (const output of Object.values(OUTPUTS)) {
        const reading = read({ ending, result, output });
        expect(reading, name).toMatchObject({
          status,
          reason,
          timeoutSource,
          publicMessage: message,
          errorSummary: `${message} Reference: ${CORRELATION}.`,
          claimedStatus: result.ok ? result.value.status : null,
          salvaged: output === OUTPUTS.files,
        });
        expect(reading.files).toEqual(output.ok ? output.files : []);
      }
    }
    for (const result of [RESULTS.timed_out, RESULTS.missing]) {
      await expectValid(await folderOf(read({ ending, result, output: OUTPUTS.files }), ending));
    }
  });
});

const NO_RESULT = 'The run did not produce a valid result.';
const CRASHED = 'The script exited with an error before it wrote a result.';
const BAD_FILES = 'The run left files of a kind that is not allowed.';
const LIED = 'The script reported success, but it exited with an error.';

type Row = [code: number, result: keyof typeof RESULTS, output: keyof typeof OUTPUTS, ...expected: Expected];
type Expected = [
  status: string,
  reason: string | null,
  message: string | null,
  source: string | null,
  salvaged: boolean,
];

/** Exit code, claim and output, with the expected verdict. */
const TABLE: Row[] = [
  [0, 'succeeded', 'files', 'succeeded', null, null, null, false],
  [0, 'succeeded', 'empty', 'succeeded', null, null, null, false],
  [0, 'succeeded', 'bad', 'failed', 'artifact_type_forbidden', BAD_FILES, null, false],
  [0, 'failed', 'files', 'failed', 'script_failed', 'Row 7 has no price.', null, false],
  [0, 'failed', 'empty', 'failed', 'script_failed', 'Row 7 has no price.', null, false],
  [0, 'failed', 'bad', 'failed', 'artifact_type_forbidden', BAD_FILES, null, false],
  [0, 'timed_out', 'files', 'timed_out', 'script_timed_out', 'The shop did not answer.', 'script', false],
  [0, 'timed_out', 'empty', 'timed_out', 'script_timed_out', 'The shop did not answer.', 'script', false],
  [0, 'timed_out', 'bad', 'failed', 'artifact_type_forbidden', BAD_FILES, null, false],
  [0, 'missing', 'files', 'failed', 'result_missing', NO_RESULT, null, true],
  [0, 'missing', 'empty', 'failed', 'result_missing', NO_RESULT, null, false],
  [0, 'missing', 'bad', 'failed', 'result_missing', NO_RESULT, null, false],
  [3, 'succeeded', 'files', 'failed', 'exit_code', LIED, null, true],
  [3, 'succeeded', 'empty', 'failed', 'exit_code', LIED, null, false],
  [3, 'succeeded', 'bad', 'failed', 'artifact_type_forbidden', BAD_FILES, null, false],
  [3, 'failed', 'files', 'failed', 'script_failed', 'Row 7 has no price.', null, false],
  [3, 'timed_out', 'files', 'timed_out', 'script_timed_out', 'The shop did not answer.', 'script', false],
  [3, 'missing', 'files', 'failed', 'result_missing', CRASHED, null, true],
  [3, 'missing', 'bad', 'failed', 'result_missing', CRASHED, null, false],
];

describe('a script that exited by itself', () => {
  test.each(TABLE)(
    'with code %d, claimed %s and left %s output gets the expected verdict',
    async (code, result, output, ...expected) => {
      const [status, reason, publicMessage, timeoutSource, salvaged] = expected;
      const ending: Ending = { how: 'exited', code };
      const reading = read({ ending, result: RESULTS[result], output: OUTPUTS[output] });
      expect(reading).toMatchObject({ status, reason, publicMessage, timeoutSource, salvaged });
      const isOwn = reason === 'script_failed' || reason === 'script_timed_out' || reason === null;
      expect(reading.errorSummary).toBe(isOwn ? publicMessage : `${publicMessage} Reference: ${CORRELATION}.`);
      await expectValid(await folderOf(reading, ending));
    },
  );

  test('and reported success with an error summary has succeeded; the summary is not shown', async () => {
    const reading = read({ result: claims({ error_summary: 'but not quite' }) });
    expect(reading).toMatchObject({
      status: 'succeeded',
      errorSummary: null,
      publicMessage: null,
      replaced: ['error_summary'],
    });
    expect(reading.remarks).toMatchObject([{ level: 'note', code: 'summary_of_success' }]);
    await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
  });

  test('and reported a failure without a message gets a default message', () => {
    for (const error_summary of [null, '', ' \n\t ', '\u200b']) {
      const { publicMessage, errorSummary } = read({ result: claims({ status: 'failed', error_summary }) });
      expect([publicMessage, errorSummary]).toEqual(
        Array.from({ length: 2 }, () => 'The script reported a failure and gave no message.'),
      );
    }
  });
});

test('a script that reports a timeout without a message gets a default message', () => {
  const { publicMessage } = read({ result: claims({ status: 'timed_out', error_summary: null }) });
  expect(publicMessage).toBe('The script reported a timeout and gave no message.');
});

test('U+0000 in HTML is replaced and reported', async () => {
  const reading = read({ result: claims({ html_output: 'a\0b' }) });
  expect(reading).toMatchObject({ status: 'succeeded', htmlOutput: 'a\ufffdb', replaced: ['html_output'] });
  expect(reading.remarks).toMatchObject([{ level: 'note', code: 'nul_replaced' }]);
  await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
  expect(read({ result: claims({ html_output: 'ab' }) }).replaced).toEqual([]);
});

describe('the internal log', () => {
  test('states why the result and the output were rejected', () => {
    const { remarks } = read({ result: RESULTS.missing, output: OUTPUTS.bad });
    expect(remarks).toEqual([
      { level: 'error', code: 'result_missing', detail: 'there is no result.json' },
      { level: 'error', code: 'artifact_type_forbidden', detail: 'output/x is a link' },
    ]);
  });

  test('has only a warning if the ending already determined the result', () => {
    const { remarks } = read({ ending: { how: 'killed', by: 'timeout', signal: 'SIGTERM' }, result: RESULTS.missing });
    expect(remarks).toMatchObject([{ level: 'warning', code: 'result_missing' }]);
  });

  test('contains no secret of the run', () => {
    const result = breach('schema_invalid', 'SR1 the key hunter2hunter2 is unknown');
    expect(JSON.stringify(read({ result, secrets: ['hunter2hunter2'] }))).not.toContain('hunter2');
  });
});

const SECRET = 'correct-horse-battery';
const UNSAFE: [string, string][] = [
  ['a trace', 'It broke.\nTraceback (most recent call last):\n  File "x.py", line 1'],
  ['a credential', `The key sk-${'a1b2'.repeat(6)} is wrong.`],
  ['a secret of the run', `The password ${SECRET} is wrong.`],
  ['a secret of the run in base64', `Sent ${Buffer.from(SECRET).toString('base64')} and failed.`],
  ['a credential over two lines', 'Authorization: Bearer\nabcdefghijklmnop1234'],
  ['a trace over two lines', 'Caused\nby: everything'],
];

describe("a script's message", () => {
  test.each(UNSAFE)('with %s is replaced entirely, and reported', async (_, error_summary) => {
    const reading = read({ result: claims({ status: 'failed', error_summary }), secrets: [SECRET] });
    expect(reading).toMatchObject({
      status: 'failed',
      errorSummary: "The script's message cannot be shown.",
      publicMessage: "The script's message cannot be shown.",
      replaced: ['error_summary'],
      cuts: [],
    });
    expect(reading.remarks).toMatchObject([{ level: 'error', code: 'unsafe_summary' }]);
    await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
  });

  test('with a host path is shown without it, and reported', async () => {
    const error_summary = 'No such file: /home/me/orders.csv';
    const reading = read({ result: claims({ status: 'failed', error_summary }) });
    expect(reading).toMatchObject({ errorSummary: 'No such file: [removed]', replaced: ['error_summary'] });
    expect(reading.remarks).toMatchObject([{ level: 'error', code: 'unsafe_summary' }]);
    await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
  });

  test('that is too long is cut at a character boundary, and reported', async () => {
    const reading = read({ result: claims({ status: 'failed', error_summary: `x${'€'.repeat(1_000)}` }) });
    expect(reading.errorSummary).toBe(`x${'€'.repeat(666)}`);
    expect(reading.cuts).toEqual([{ what: 'error_summary', bytes_total: 3_001, bytes_kept: 1_999 }]);
    await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
  });

  test('that a cut would turn into a host path gives valid evidence', async () => {
    for (let before = 1_990; before < 2_000; before++) {
      const error_summary = `${'x'.repeat(before - 1)} /homework is not done`;
      const reading = read({ result: claims({ status: 'failed', error_summary }) });
      await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
    }
  });

  test('always gives valid evidence', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 10 }),
      fc.constantFrom(
        '\n',
        '\t',
        ' ',
        'Bearer',
        'Basic',
        'abcdefghijklmnopqr',
        'panicked',
        'at ',
        'Caused',
        'by: ',
        '/home',
        '/tmp',
        'C:',
        '\\Users',
        'file',
        '://',
        'u:',
        'p',
        '@',
        'sk-',
        '\u001b[31m',
        '\ud800',
        '\u0000',
        '\u202e',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async pieces => {
        const reading = read({ result: claims({ status: 'failed', error_summary: pieces.join('') }) });
        await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
      }),
      { numRuns: 60 },
    );
  });
});

describe("a script's HTML", () => {
  const rows: [string, string, string[]][] = [
    ['is long', `<p>${'x'.repeat(600_000)}`, []],
    ['is long, with characters of three bytes', '€'.repeat(300_000), []],
    ['is full of NUL', '\0'.repeat(170_000), []],
    ['is full of control characters', '\u0001'.repeat(174_700), []],
    ['is full of quotes', '"'.repeat(520_000), []],
    ['is full of a short secret', 'pw;'.repeat(130_000), ['pw']],
    ['is full of a secret of one letter', 'a'.repeat(300_000), ['a']],
  ];
  test.each(rows)('that %s gives valid evidence, and states what was cut', async (_, html_output, secrets) => {
    const reading = read({
      result: claims({ html_output, status: 'failed', error_summary: 'No.' }),
      secrets,
      output: OUTPUTS.files,
    });
    expect(Buffer.byteLength(reading.htmlOutput)).toBeLessThanOrEqual(500_000);
    const cut = { what: 'html_output', bytes_kept: Buffer.byteLength(reading.htmlOutput) };
    expect(reading.cuts).toMatchObject([cut]);
    for (const { bytes_kept, bytes_total } of reading.cuts) expect(bytes_kept).toBeLessThan(bytes_total);
    await expectValid(await folderOf(reading, { how: 'exited', code: 0 }));
  });

  test('is unchanged except for secrets', () => {
    const html_output = `<b title="${SECRET}">1 < 2 & 'ok'</b>\n`;
    expect(read({ result: claims({ html_output }), secrets: [SECRET] }).htmlOutput).toBe(
      `<b title="[masked]">1 < 2 & 'ok'</b>\n`,
    );
    expect(read({ result: RESULTS.missing }).htmlOutput).toBe('');
  });
});

describe('the files that a script declares', () => {
  const named = (...artifacts: [string, number][]) => ({
    result: claims({ artifacts: artifacts.map(([file, bytes]) => ({ path: file, bytes })) }),
    output: OUTPUTS.files,
  });

  test.each([
    [
      'all of them',
      named(['output/a.txt', 3], ['output/sub/b.txt', 2]),
      { declared_missing: [], undeclared: 0, size_mismatches: 0 },
    ],
    ['none of them', named(), { declared_missing: [], undeclared: 2, size_mismatches: 0 }],
    ['one with another size', named(['output/a.txt', 4]), { declared_missing: [], undeclared: 1, size_mismatches: 1 }],
    [
      'one that is missing',
      named(['output/c.txt', 4]),
      { declared_missing: ['output/c.txt'], undeclared: 2, size_mismatches: 0 },
    ],
    [
      'one twice',
      named(['output/a.txt', 3], ['output/a.txt', 3]),
      { declared_missing: [], undeclared: 1, size_mismatches: 0 },
    ],
    [
      'one in another spelling',
      named(['./output/./a.txt', 3], ['output/./sub/b.txt', 2]),
      { declared_missing: [], undeclared: 0, size_mismatches: 0 },
    ],
  ])('are compared with those that exist: %s', async (_, facts, expected) => {
    const reading = read(facts);
    expect(reading.artifacts).toEqual({ files: 2, bytes: 5, ...expected });
    expect(reading.files.map(({ path: file }) => file)).toEqual(Object.keys(FILES));
    const folder = await folderOf(reading, { how: 'exited', code: 0 });
    await expectValid(folder);
    const result = JSON.parse(readFileSync(path.join(folder, 'result.json'), 'utf8')) as ScriptResult;
    expect(result.artifacts).toEqual([
      { path: 'output/a.txt', bytes: 3 },
      { path: 'output/sub/b.txt', bytes: 2 },
    ]);
  });

  test('and that are missing are listed up to a limit', () => {
    const many = Array.from({ length: 60 }, (_, no): [string, number] => [`output/${no}`, 1]);
    expect(read(named(...many)).artifacts.declared_missing).toHaveLength(50);
  });

  test('and unknown keys are listed without secrets', () => {
    const result = claims({ artifacts: [{ path: `output/${SECRET}`, bytes: 1 }] }, [SECRET, 'rows']);
    const { artifacts, result: note } = read({ result, secrets: [SECRET] });
    expect(artifacts.declared_missing).toEqual(['output/[masked]']);
    expect(note?.unknown_keys).toEqual(['[masked]', 'rows']);
  });

  test('and unknown keys reveal no prefix of a long secret', () => {
    const work = temporaryFolder();
    const long = `key.${'Part7.'.repeat(15)}end`;
    const shown = (secret: string, text: string): string => {
      put(work, 'result.json', text);
      const { result, remarks } = read({ result: readResult(work), secrets: [secret] });
      return JSON.stringify([result?.unknown_keys, remarks]);
    };
    const valid = { contract_version: 1, status: 'succeeded', html_output: '', error_summary: null, artifacts: [] };
    expect(shown(long, JSON.stringify({ ...valid, [long]: 1 }))).toBe('[["[\\"[masked]\\"]"],[]]');
    expect(shown(long, `{"${long}":1,"${long}":1}`)).not.toContain('Part7');
    const control = 'a\u001bsecret "with" controls';
    expect(shown(control, JSON.stringify({ ...valid, [control]: 1 }))).not.toContain('secret');
  });

  test('in the thousands, with long names, give a valid result', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 1_200 }, (_, no) => [`output/${`${'x'.repeat(240)}/`.repeat(4)}${no}`, 'x']),
    );
    const reading = read({ output: stored(files), result: claims({ html_output: '"'.repeat(520_000) }) });
    const folder = await folderOf(reading, { how: 'exited', code: 0 }, files);
    await expectValid(folder);
    const result = JSON.parse(readFileSync(path.join(folder, 'result.json'), 'utf8')) as ScriptResult;
    expect(result.artifacts.length).toBeGreaterThan(10);
    expect(reading.artifacts.files).toBe(1_200);
  });
});

describe('the note of a result', () => {
  test('hashes the masked bytes, so that it cannot confirm a guess', () => {
    const html_output = '<p>31415926 p\u00e4ss-w\u00f6rter</p>';
    const result = claims({ html_output });
    const other = claims({ html_output: '<p>27182818 p\u00e4ss-w\u00f6rter</p>' });
    const note = read({ result, secrets: ['31415926'] }).result;
    expect(note).toEqual(read({ result: other, secrets: ['27182818'] }).result);
    const text = JSON.stringify(
      result.ok && { ...result.value, html_output: html_output.replace('31415926', '[masked]') },
    );
    expect(note).toMatchObject({ sha256: bytesHash(text), bytes: Buffer.byteLength(text) });
  });
});
