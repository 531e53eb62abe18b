import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RunEvent } from '../../src/contracts/run-events.ts';
import { Journal } from '../../src/evidence/run-folder/journal.ts';
import type { RunFolder } from '../../src/evidence/run-folder/runs.ts';
import { ownerHere } from '../../src/run/pipeline/runner-plan.ts';
import { followRun } from '../../src/verbs/follow-run.ts';
import { runScript, runSuite } from '../../src/verbs/index.ts';
import { attemptRun } from '../../src/verbs/runs.ts';
import { Agent, answersWell, saying } from '../run/suite/agent.ts';
import { randomFrom } from '../support/random.ts';
import { Place, place, until } from '../support/runs.ts';
import { proveJournal, temporaryFolder } from '../support/support.ts';

/** Collects the events of a run until it ends, or until `isEnough`. */
async function collect(
  at: RunFolder,
  from?: string,
  isEnough: (events: readonly RunEvent[]) => boolean = () => false,
): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  const stop = new AbortController();
  for await (const event of followRun(at, { signal: stop.signal, ...(from !== undefined && { from }) })) {
    events.push(event);
    if (isEnough(events)) stop.abort();
  }
  return events;
}

/** Resolves with the folder of a run, once it exists. */
function folderFound() {
  let resolve: (at: RunFolder) => void = () => undefined;
  const promise = new Promise<RunFolder>(done => (resolve = done));
  return { promise, resolve: (at: RunFolder) => resolve(at) };
}

const kindsOf = (events: readonly RunEvent[]): string[] => events.map(({ kind }) => kind);
const linesOf = (events: readonly RunEvent[]): number[] =>
  events.flatMap(({ data }) => ('line' in data ? [data.line] : []));
const counting = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
const textOf = (events: readonly RunEvent[], stream: string): string =>
  events.flatMap(event => (event.kind === 'output' && event.data.stream === stream ? [event.data.text] : [])).join('');

/** A suite of `count` cases that runs in this process until it is released. */
async function suite(count: number, { delayMs = 2 } = {}) {
  const cwd = temporaryFolder();
  const ids = counting(count).map(number => `case-${number}`);
  const slowly: typeof answersWell = (seen, response, times) =>
    void setTimeout(() => answersWell(seen, response, times), delayMs);
  const wrong = saying({ final_output: { content_type: 'text', content: 'No.' } });
  const agent = new Agent({ ...Object.fromEntries(ids.map(id => [id, slowly])), 'case-2': wrong });
  const cases = ids.map(id => ({ id, input: { user: id }, expected: { contains: 'asked' } }));
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(cases));
  const baseUrl = await agent.start();
  const found = folderFound();
  const ended = runSuite({ cases: 'cases.json', cwd, baseUrl, as: 'new', concurrency: 4, onFolder: found.resolve });
  return { ids, ended, at: await found.promise };
}

describe('following a suite', () => {
  test('reports every line of its journal once, in order, then the seal', async () => {
    const { ids, ended, at } = await suite(40);
    const events = await collect(at);
    await ended;
    expect(linesOf(events)).toEqual(counting(events.length - 1));
    expect(kindsOf(events).slice(0, 3)).toEqual(['laying', 'planned', 'begun']);
    expect(events[1]).toMatchObject({ id: '2', data: { run_kind: 'suite', cases: 40 } });
    expect(events.at(-1)).toEqual({ kind: 'sealed', id: null, data: {} });
    const cases = events.flatMap(event => (event.kind === 'case' ? [event.data] : []));
    expect(cases.map(({ case_id }) => case_id).sort()).toEqual(ids.sort());
    expect(cases.find(({ case_id }) => case_id === 'case-2')).toMatchObject({ verdict: 'fail', status: 'ok' });
    expect(cases.find(({ case_id }) => case_id === 'case-3')).toMatchObject({ verdict: 'pass', attempts: 1 });
  });

  test('loses and repeats nothing if the viewer reconnects at random moments', async () => {
    const random = randomFrom(7);
    const { ended, at } = await suite(150, { delayMs: 4 });
    const all: RunEvent[] = [];
    while (all.at(-1)?.kind !== 'sealed') {
      const last = all.findLast(({ id }) => id !== null)?.id ?? undefined;
      const count = 1 + Math.floor(random() * 60);
      all.push(...(await collect(at, last, events => events.length >= count)));
    }
    await ended;
    expect(linesOf(all)).toEqual(counting(all.length - 1));
    expect(all.filter(({ kind }) => kind === 'case')).toHaveLength(150);
  });

  test('reports only the seal if the run is already sealed', async () => {
    const { ended, at } = await suite(1);
    await ended;
    expect(kindsOf(await collect(at))).toEqual(['sealed']);
    expect(kindsOf(await collect(at, '12'))).toEqual(['sealed']);
  });

  test('reports that a folder does not exist', async () => {
    const folder = path.join(temporaryFolder(), 'none');
    expect(kindsOf(await collect({ id: 'none', lane: 'new', folder }))).toEqual(['gone']);
  });
});

/** A run folder with a journal that a test writes. Its owner does not exist. */
function writtenRun(lines: readonly object[]): RunFolder & { readonly journal: string } {
  const folder = path.join(temporaryFolder(), 'suite_20260106_120000_0123456789ab');
  mkdirSync(folder);
  const journal = path.join(folder, 'journal.ndjson');
  writeFileSync(journal, lines.map(line => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
  return { id: path.basename(folder), lane: 'new', folder, journal };
}

const LAYING = { is: 'laying', owner: { pid: 1, startTicks: 1, bootId: 'x' } };
const sent = (id: string) => ({ is: 'sent', id, attempt: 1, atMs: 1, key: 'k' });

describe('a journal', () => {
  test('is not followed if this machine did not write it, until it is replaced', async () => {
    const at = writtenRun([LAYING, sent('a')]);
    const ours = writtenRun([LAYING, sent('b')]);
    const events: RunEvent[] = [];
    for await (const event of followRun(at)) {
      events.push(event);
      if (event.kind === 'foreign') {
        renameSync(ours.journal, at.journal);
        proveJournal(at.folder);
      }
      if (event.kind === 'dead') break;
    }
    expect(kindsOf(events)).toEqual(['foreign', 'laying', 'sent', 'dead']);
    expect(events[2]?.data).toMatchObject({ line: 2, case_id: 'b' });
  });

  test('yields a torn line only once it is complete, and never a line with a wrong code', async () => {
    const at = writtenRun([LAYING, sent('a'), sent('b'), sent('c')]);
    proveJournal(at.folder);
    const bytes = readFileSync(at.journal);
    const third = bytes.indexOf('"b"');
    const fourth = bytes.indexOf('"c"');
    const write = (content: Uint8Array | string): void => writeFileSync(at.journal, content);
    write(bytes.subarray(0, third));
    const events: RunEvent[] = [];
    const following = (async () => {
      for await (const event of followRun(at)) {
        events.push(event);
        if (event.kind === 'sent' && event.data.case_id === 'c') return;
      }
    })();
    await until('the second line', () => events.length >= 2);
    // A resume cuts the torn line off and writes another one.
    write(`${bytes.subarray(0, third).toString()}"torn\tcode\n`);
    write(bytes.subarray(0, fourth));
    await until('the third line', () => events.filter(({ kind }) => kind === 'sent').length === 2);
    appendFileSync(at.journal, bytes.subarray(fourth));
    await following;
    expect(linesOf(events)).toEqual([1, 2, 3, 4]);
  });

  test('that is shorter than what the viewer has seen is reported from its start', async () => {
    const at = writtenRun([LAYING, sent('a')]);
    proveJournal(at.folder);
    const events = await collect(at, '9', ([...all]) => all.at(-1)?.kind === 'dead');
    expect(kindsOf(events)).toEqual(['restart', 'laying', 'sent', 'dead']);
  });
});

describe('following a suite that is killed', () => {
  test('reports that it is dead, and continues when it is resumed', async () => {
    const here = new Place();
    onTestFinished(() => here.remove());
    const ids = counting(60).map(number => `case-${number}`);
    const slowly: typeof answersWell = (seen, response, times) =>
      void setTimeout(() => answersWell(seen, response, times), 15);
    const agent = new Agent(Object.fromEntries(ids.map(id => [id, slowly])));
    here.file('cases.jsonl', ids.map(id => `${JSON.stringify({ id, input: { user: id } })}\n`).join(''));
    const baseUrl = await agent.start();
    const folder = path.join(here.cwd, '.proctor', 'runs', 'new', 'r1');
    const args = ['run', 'suite', 'cases.jsonl', '--base-url', baseUrl, '--as', 'new', '--run-id', 'r1'];
    const run = here.start([...args, '--concurrency', '4']);
    await until('the journal', () => existsSync(path.join(folder, 'journal.ndjson')));
    const events: RunEvent[] = [];
    let resumed: ReturnType<Place['start']> | undefined;
    for await (const event of followRun({ id: 'r1', lane: 'new', folder })) {
      events.push(event);
      if (events.filter(({ kind }) => kind === 'case').length === 20) run.kill('SIGKILL');
      if (event.kind === 'dead') {
        // What a kill in the middle of a write leaves.
        appendFileSync(path.join(folder, 'journal.ndjson'), '{"is":"case","id":"case-9');
        resumed = here.start(['run', 'suite', '--resume', 'r1']);
      }
    }
    expect(kindsOf(events)).toContain('dead');
    expect((await resumed?.ended)?.code).toBe(0);
    expect(linesOf(events)).toEqual(counting(linesOf(events).length));
    const done = new Set(events.flatMap(event => (event.kind === 'case' ? [event.data.case_id] : [])));
    expect(done.size).toBe(60);
    expect(kindsOf(events).filter(kind => kind === 'begun')).toHaveLength(2);
    expect(events.at(-1)?.kind).toBe('sealed');
  });
});

describe('following a suite whose target is a script', () => {
  test('names the run that answers a case while it runs, and that run can be followed too', async () => {
    const here = new Place();
    onTestFinished(() => here.remove());
    const script = here.file(
      'answer.sh',
      `#!/bin/sh\necho thinking >&2\nwhile [ ! -e ${here.cwd}/go ]; do sleep 0.05; done\n`,
      0o755,
    );
    here.file('cases.json', '[{"id":"a","input":{"user":"a"}}]');
    const found = folderFound();
    const suiteOf = { cases: 'cases.json', cwd: here.cwd, as: 'new', retries: 0, bounds: { sandbox: 'none' } } as const;
    const ended = runSuite({ ...suiteOf, script, onFolder: found.resolve });
    const seen: RunEvent[] = [];
    for await (const event of followRun(await found.promise)) {
      if (event.kind !== 'running') continue;
      const attempt = attemptRun(path.join(here.cwd, '.proctor'), event.data.run_id) as RunFolder;
      for await (const inner of followRun(attempt)) {
        seen.push(inner);
        if (textOf(seen, 'stderr').includes('thinking')) release(here);
      }
    }
    await ended;
    expect(textOf(seen, 'stderr')).toBe('thinking\n');
    expect(seen.at(-1)?.kind).toBe('sealed');
  });
});

describe('following an agent', () => {
  test('reports whole transcript lines with long texts cut, before the end of the agent, and its checks', async () => {
    const folder = path.join(temporaryFolder(), 'agent_20260106_120000_0123456789ab');
    mkdirSync(path.join(folder, 'evidence/steps/agent'), { recursive: true, mode: 0o700 });
    const journal = Journal.open<object>(folder);
    onTestFinished(() => journal.close());
    const request = { run_id: path.basename(folder), kind: 'agent' };
    journal.append({ is: 'planned', plan: { request, asked: { rendered_task_text: 'Fix it.' }, owner: ownerHere() } });
    journal.append({ is: 'started', atMs: 1 });
    const transcript = path.join(folder, 'evidence/steps/agent/transcript.ndjson');
    const line = (seq: number, text: string): string =>
      `${JSON.stringify({ schema_version: 'transcript-line.v1', seq, at_ms: seq, native_line: seq, kind: 'message', role: 'assistant', body: { text } })}\n`;
    const [first, second] = [line(1, 'Hello ✓'), line(2, 'x'.repeat(10_000))];
    writeFileSync(transcript, first + second.slice(0, 50));
    const events: RunEvent[] = [];
    for await (const event of followRun({ id: request.run_id, lane: 'agent', folder })) {
      events.push(event);
      if (event.kind === 'transcript' && event.data.entry.seq === 1) {
        // A line that masking broke is skipped.
        appendFileSync(transcript, `${second.slice(50)}not JSON\n${line(4, 'Bye')}`);
        journal.append({ is: 'captured', atMs: 2, capture: { ending: { how: 'exited', code: 0 } } });
        journal.append({ is: 'noted', atMs: 3, note: { result: { name: 'tests', verdict: 'passed' } } });
      }
      if (event.kind === 'noted') break;
    }
    expect(kindsOf(events)).toEqual(['planned', 'started', ...Array(3).fill('transcript'), 'captured', 'noted']);
    expect(events[0]?.data).toMatchObject({ run_kind: 'agent', subject: 'Fix it.' });
    expect(events[2]).toMatchObject({ id: `2.${Buffer.byteLength(first)}`, data: { from: 0 } });
    expect(events[3]?.data).toMatchObject({ entry: { body: { text: 'x'.repeat(4_096), bytes_total: 10_000 } } });
    expect(events[6]?.data).toMatchObject({ check: 'tests', verdict: 'passed' });
  });
});

describe('following a script', () => {
  /** Runs a script in this process, without a sandbox. */
  function script(source: (here: Place) => string, secrets: Readonly<Record<string, string>> = {}) {
    const here = place();
    const file = here.file(
      'task.sh',
      `#!/bin/sh\n${source(here)}\necho '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`,
    );
    const found = folderFound();
    const ended = runScript({ script: file, cwd: here.cwd, sandbox: 'none', secrets, onFolder: found.resolve });
    return { here, ended, found: found.promise };
  }

  test('shows what it prints while it runs, masked, before it ends', async () => {
    const { here, ended, found } = script(
      ({ cwd }) => `echo "hello $TOKEN ✓"; echo oops >&2; while [ ! -e ${cwd}/go ]; do sleep 0.05; done; echo bye`,
      { TOKEN: 'hunter2-hunter2' },
    );
    const at = await found;
    const events: RunEvent[] = [];
    for await (const event of followRun(at)) {
      events.push(event);
      if (textOf(events, 'stdout').includes('hello') && textOf(events, 'stderr').includes('oops')) release(here);
    }
    await ended;
    expect(textOf(events, 'stdout')).toMatch(/^hello \[masked\S*\] ✓\nbye\n$/);
    expect(JSON.stringify(events)).not.toContain('hunter2');
    const kinds = kindsOf(events);
    expect(textOf(events, 'stderr')).toBe('oops\n');
    expect(kinds.slice(0, 2)).toEqual(['planned', 'started']);
    expect(kinds.slice(-3)).toEqual(['captured', 'read', 'sealed']);
  });

  test('shows more output than its evidence keeps, without a gap, across reconnects', async () => {
    const lines = 40_000;
    const { here, ended, found } = script(
      ({ cwd }) => `seq 1 ${lines}; while [ ! -e ${cwd}/go ]; do sleep 0.05; done; seq 1 ${lines}`,
    );
    const at = await found;
    const whole = `${counting(lines).join('\n')}\n`;
    expect(whole.length).toBeGreaterThan(200_000);
    const random = randomFrom(11);
    const all: RunEvent[] = [];
    while (all.at(-1)?.kind !== 'sealed') {
      const last = all.findLast(({ id }) => id !== null)?.id ?? undefined;
      const count = 1 + Math.floor(random() * 5);
      all.push(...(await collect(at, last, events => events.length >= count)));
      if (textOf(all, 'stdout').length >= whole.length) release(here);
    }
    await ended;
    const text = textOf(all, 'stdout');
    expect(kindsOf(all)).not.toContain('restart');
    // Reading stops at the seal, and the last reader may come later.
    expect(`${whole}${whole}`.startsWith(text)).toBe(true);
    expect(text.length).toBeGreaterThanOrEqual(whole.length);
  });

  test('does not start over for a viewer that returns after the output is removed and before the seal', async () => {
    const folder = path.join(temporaryFolder(), 'script_20260106_120000_0123456789ab');
    mkdirSync(path.join(folder, 'evidence'), { recursive: true, mode: 0o700 });
    const journal = Journal.open<object>(folder);
    onTestFinished(() => journal.close());
    const request = { run_id: path.basename(folder), kind: 'script' };
    journal.append({ is: 'planned', plan: { request, asked: {}, owner: ownerHere() } });
    journal.append({ is: 'started', atMs: 1 });
    journal.append({ is: 'captured', atMs: 2, capture: { ending: { how: 'exited', code: 0 } } });
    journal.append({ is: 'read', atMs: 3 });
    const at = { id: request.run_id, lane: 'scripts', folder } as const;
    // The process that would seal it is gone.
    journal.append({ is: 'left' });
    const events = await collect(at, '2.457788', all => all.at(-1)?.kind === 'dead');
    expect(kindsOf(events).slice(0, 2)).toEqual(['captured', 'read']);
    expect(events[1]?.id).toBe('4.457788');
    expect(kindsOf(events)).not.toContain('restart');
  });
});

function release(here: Place): void {
  here.file('go', '');
}
