/** Stored replies are evidence: they survive interruptions, other machines and packs, and always match the cases. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import type { SuiteReply } from '../../../src/contracts/suite/index.ts';
import { packRun } from '../../../src/verbs/pack.ts';
import { type ResumeOptions, resumeSuite } from '../../../src/verbs/resume-suite.ts';
import { runSuite } from '../../../src/verbs/run-suite.ts';
import { unpack } from '../../../src/verbs/unpack.ts';
import { until } from '../../support/runs.ts';
import { proveJournal, temporaryFolder } from '../../support/support.ts';
import { Agent, answersWell, hangs, saying } from './agent.ts';
import { expectValid, ranSuite } from './support.ts';

type Behaviour = typeof answersWell;

const IDS = ['one', 'two', 'three', 'four', 'last'];
const LARGE = 'x'.repeat(100_000);
const REPLIES = 'assets/replies.ndjson';

const saysLarge = saying({ final_output: { content_type: 'text', content: LARGE } });
const omitsRiskTags = saying({
  proposed_actions: [
    { action_id: 'a', action_type: 'b', tool_name: 'c', params: {}, risk_level: 'low', evidence_refs: [] },
  ],
});

const repliesIn = (folder: string): SuiteReply[] =>
  linesIn(path.join(folder, REPLIES)).map(line => JSON.parse(line) as SuiteReply);

const linesIn = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];

/** A run that was stopped while it waited for the answer to its last case. */
async function stoppedRun(behaviours: Readonly<Record<string, Behaviour>> = {}) {
  const cwd = temporaryFolder();
  const agent = new Agent({
    ...behaviours,
    last: (seen, response, times) => (times === 1 ? hangs : answersWell)(seen, response, times),
  });
  const baseUrl = await agent.start();
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(IDS.map(id => ({ id, input: { user: id } }))));
  const stop = new AbortController();
  const { runs } = await runSuite({
    cases: 'cases.json',
    as: 'new',
    runId: 'stopped',
    baseUrl,
    concurrency: 1,
    cwd,
    signal: stop.signal,
    onProgress: ({ done }) => {
      if (done === IDS.length - 1)
        void until('the last case was sent', () => agent.times('last') > 0).then(() => stop.abort());
    },
  });
  expect(runs[0]).toMatchObject({ isOpen: true, ok: 4 });
  const folder = runs[0]?.place.folder as string;
  const resume = (options: Partial<ResumeOptions> = {}) =>
    resumeSuite('stopped', { cwd, variable: () => undefined, ...options });
  return { cwd, agent, baseUrl, folder, resume };
}

/** Expects one reply per answered case, that of its last attempt, and no other reply file. */
async function expectAgreement(folder: string, ids: readonly string[] = IDS): Promise<void> {
  const artifacts = ids.map(id => JSON.parse(readFileSync(path.join(folder, `${id}.json`), 'utf8')) as CaseArtifact);
  const answered = artifacts.filter(({ status }) => status === 'ok');
  const stated = answered.map(
    ({ case_id, attempts = [] }) => `${case_id}/${attempts.length} ${attempts.at(-1)?.reply_sha256 ?? ''}`,
  );
  const stored = repliesIn(folder).map(({ case_id, attempt, sha256 }) => `${case_id}/${attempt} ${sha256}`);
  expect(stored.sort()).toEqual(stated.sort());
  const files = readdirSync(path.join(folder, 'assets')).filter(name => name.endsWith('.reply'));
  expect(files.map(name => `assets/${name}`)).toEqual(
    repliesIn(folder)
      .flatMap(({ href }) => href ?? [])
      .sort(),
  );
  await expectValid(folder);
}

/** Edits the lines of a journal, and signs it again. */
function editJournal(folder: string, edit: (line: string) => string | undefined): void {
  const file = path.join(folder, 'journal.ndjson');
  const lines = linesIn(file).map(line => line.replace(/\t\S+$/, ''));
  writeFileSync(
    file,
    lines
      .flatMap(line => edit(line) ?? [])
      .map(line => `${line}\n`)
      .join(''),
  );
  proveJournal(folder);
}

const isCase = (line: string, id: string): boolean => line.startsWith(`{"is":"case","id":"${id}"`);

describe('a resumed run', () => {
  const losses: readonly (readonly [what: string, lose: (folder: string) => void, again: readonly string[]])[] = [
    ['nothing was lost', () => undefined, []],
    ['the last reply is missing', folder => cutReplies(folder, lines => lines.slice(0, 3)), ['four']],
    ['the last reply is cut', folder => truncateSync(...lastBytesOf(folder, 40)), ['four']],
    ['only its line feed is missing', folder => truncateSync(...lastBytesOf(folder, 1)), ['four']],
    ['a block of replies is zero', folder => cutReplies(folder, zeroedFrom(2)), ['three', 'four']],
    ['all replies are missing', folder => rmSync(path.join(folder, REPLIES)), ['one', 'two', 'three', 'four']],
    ['the reply is that of another answer', folder => cutReplies(folder, swapped), ['two']],
    [
      'the journal lost its last case',
      folder => editJournal(folder, line => (isCase(line, 'four') ? undefined : line)),
      ['four'],
    ],
    [
      'the journal lost a case and its request',
      folder => editJournal(folder, line => (line.includes('"id":"four"') ? undefined : line)),
      ['four'],
    ],
  ];
  test.each(losses)('sends only unproven cases again: %s', async (_, lose, again) => {
    const { agent, folder, resume } = await stoppedRun({ four: saysLarge });
    lose(folder);
    expect((await resume()).runs[0]).toMatchObject({ isOpen: false, ok: IDS.length });
    const asked = IDS.map(id => [id, agent.times(id)]);
    expect(asked).toEqual(IDS.map(id => [id, id === 'last' || again.includes(id) ? 2 : 1]));
    await expectAgreement(folder);
  });

  test('leaves no file of replies if no case keeps its answer', async () => {
    const { folder, resume } = await stoppedRun();
    cutReplies(folder, () => []);
    const stop = new AbortController();
    stop.abort();
    expect((await resume({ signal: stop.signal })).runs[0]).toMatchObject({ isOpen: true, ok: 0 });
    expect(existsSync(path.join(folder, REPLIES))).toBe(false);
    expect((await resume()).runs[0]).toMatchObject({ isOpen: false, ok: IDS.length });
    await expectAgreement(folder);
  });
});

function cutReplies(folder: string, edit: (lines: string[]) => string[]): void {
  const file = path.join(folder, REPLIES);
  writeFileSync(
    file,
    edit(linesIn(file))
      .map(line => `${line}\n`)
      .join(''),
  );
}

function lastBytesOf(folder: string, bytes: number): [file: string, length: number] {
  const file = path.join(folder, REPLIES);
  return [file, readFileSync(file).length - bytes];
}

const zeroedFrom =
  (index: number) =>
  (lines: string[]): string[] =>
    lines.map((line, at) => (at === index ? '\0'.repeat(line.length) : line));

/** Gives the second case the reply of the first. */
function swapped(lines: string[]): string[] {
  const [first = '{}', second = '{}', ...rest] = lines;
  const { case_id, attempt } = JSON.parse(second) as SuiteReply;
  return [first, JSON.stringify({ ...(JSON.parse(first) as SuiteReply), case_id, attempt }), ...rest];
}

describe('a run from another machine', () => {
  /** A copied folder has another inode, so its journal proves nothing here. */
  async function copied(behaviours: Readonly<Record<string, Behaviour>> = {}) {
    const { cwd: from, agent, baseUrl, folder: original } = await stoppedRun(behaviours);
    const cwd = temporaryFolder();
    cpSync(from, cwd, { recursive: true });
    const folder = path.join(cwd, path.relative(from, original));
    const adopt = (options: Partial<ResumeOptions>) =>
      resumeSuite('stopped', { cwd, variable: () => undefined, ...options });
    return { cwd, agent, baseUrl, folder, adopt };
  }

  test('keeps the answers that follow from their replies', async () => {
    const { agent, baseUrl, folder, adopt } = await copied({ two: saysLarge, three: omitsRiskTags });
    expect((await adopt({ baseUrl })).runs[0]).toMatchObject({ ok: IDS.length });
    expect(IDS.map(id => agent.times(id))).toEqual([1, 1, 1, 1, 2]);
    await expectAgreement(folder);
  });

  test('sends a case again if --strict-replies rejects its stored reply', async () => {
    const { agent, baseUrl, folder, adopt } = await copied({ three: omitsRiskTags });
    expect((await adopt({ baseUrl, strictReplies: true })).runs[0]).toMatchObject({ ok: 4, failed: 1 });
    expect(IDS.map(id => agent.times(id))).toEqual([1, 1, 2, 1, 2]);
    await expectAgreement(folder);
  });

  test('sends all cases again if it is resumed with a target that maps replies differently', async () => {
    const { cwd, agent, baseUrl, folder, adopt } = await copied();
    const target = {
      kind: 'http',
      url: baseUrl,
      request: { path: '/', body: { case_id: '${case.id}', input: { user: '${input.user}' } } },
      reply: { final_output: '$.final_output.content', workflow_id: '$.case_id' },
    };
    writeFileSync(path.join(cwd, 'target.json'), JSON.stringify(target));
    expect((await adopt({ target: 'target.json' })).runs[0]).toMatchObject({ ok: IDS.length });
    expect(IDS.map(id => agent.times(id))).toEqual([2, 2, 2, 2, 2]);
    await expectAgreement(folder);
  });

  const forgeries: readonly (readonly [what: string, forge: (folder: string) => void, again: readonly string[]])[] = [
    [
      'an answer that the reply does not contain',
      folder => editJournal(folder, line => (isCase(line, 'two') ? line.replace('You asked', 'I refuse') : line)),
      ['two'],
    ],
    [
      'answers without replies, as older versions wrote',
      folder => {
        rmSync(path.join(folder, REPLIES));
        editJournal(folder, line => line.replace(/,"reply_sha256":"[^"]+"/, '').replace(/"reply_sha256":"[^"]+",/, ''));
      },
      ['one', 'two', 'three', 'four'],
    ],
    [
      'repairs that never happened',
      folder =>
        editJournal(folder, line =>
          isCase(line, 'one') ? line.replace('"reply_sha256"', '"repairs":{"R1":1},"reply_sha256"') : line,
        ),
      ['one'],
    ],
  ];
  test.each(forgeries)('sends cases with %s again', async (_, forge, again) => {
    const { agent, baseUrl, folder, adopt } = await copied();
    forge(folder);
    // The forger does not have this machine's key.
    const journal = path.join(folder, 'journal.ndjson');
    writeFileSync(
      journal,
      linesIn(journal)
        .map(line => `${line.replace(/\t\S+$/, '\tforged')}\n`)
        .join(''),
    );
    await adopt({ baseUrl });
    expect(IDS.filter(id => agent.times(id) > 1)).toEqual([...again, 'last']);
    await expectAgreement(folder);
  });
});

describe('a large reply', () => {
  test('is stored in a separate file, and verifies', async () => {
    const agent = new Agent({ small: saysLarge, plain: answersWell });
    const { folder, artifact, bytes } = await ranSuite(['small', 'plain'], { baseUrl: await agent.start() });
    const body = bytes('assets/small.1.reply');
    expect(body.length).toBeGreaterThan(LARGE.length);
    expect(artifact('small').attempts?.[0]?.reply_sha256).toBe(bytesHash(body));
    expect(repliesIn(folder).map(({ case_id, href, body: inline }) => [case_id, href, inline === undefined])).toEqual(
      expect.arrayContaining([
        ['small', 'assets/small.1.reply', true],
        ['plain', undefined, false],
      ]),
    );
    await expectAgreement(folder, ['small', 'plain']);
  });

  test('of the maximum size is kept whole', async () => {
    const most = 8 * 1024 * 1024;
    const fitting: Behaviour = (seen, response) => {
      const rest = JSON.stringify({ case_id: seen.caseId, final_output: '' }).length;
      response.writeHead(200).end(JSON.stringify({ case_id: seen.caseId, final_output: 'y'.repeat(most - rest) }));
    };
    const agent = new Agent({ huge: fitting });
    const { folder, artifact } = await ranSuite(['huge'], { baseUrl: await agent.start(), bodyBytesMax: most });
    expect(artifact('huge')).toMatchObject({ status: 'ok', attempts: [{ repairs: { R8: 1 } }] });
    expect(repliesIn(folder)).toMatchObject([{ bytes: most, href: 'assets/huge.1.reply' }]);
    await expectAgreement(folder, ['huge']);
  });
});

test('a pack carries the replies, and an unpacked run proves its answers', async () => {
  const agent = new Agent({ two: saysLarge, three: omitsRiskTags });
  const { cwd, folder } = await ranSuite(['one', 'two', 'three'], { baseUrl: await agent.start(), runId: 'packed' });
  const { file } = await packRun('packed', { cwd });
  await expectValid(file);
  const { folder: copy } = await unpack(file, { cwd, to: 'copy' });
  for (const name of [REPLIES, 'assets/two.1.reply']) {
    expect(readFileSync(path.join(copy, name))).toEqual(readFileSync(path.join(folder, name)));
  }
  await expectAgreement(copy, ['one', 'two', 'three']);
});
