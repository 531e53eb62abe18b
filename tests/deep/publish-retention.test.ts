import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newKeyPair } from '../../src/base/ed25519.ts';
import { canonicalize } from '../../src/base/canonical.ts';
import { instantText } from '../../src/base/clock.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { type ExpiryStatement, openExpiry } from '../../src/contracts/expiry/index.ts';
import { sealDocument } from '../../src/contracts/seal/index.ts';
import { noteRun, readRecord } from '../../src/publish/script-runs.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { packRun } from '../../src/verbs/pack.ts';
import { tendScriptRuns } from '../../src/verbs/publish/expire-runs.ts';
import { downloadOutput } from '../../src/verbs/publish/published-downloads.ts';
import { publishedRunView } from '../../src/verbs/publish/published-view.ts';
import { publishScript } from '../../src/verbs/publish/publish.ts';
import { runPublished } from '../../src/verbs/publish/run-published.ts';
import { verify, type Verdict } from '../../src/verify/index.ts';
import { faultOf, PublishWorld } from '../publish/world.ts';

afterAll(closeLauncher);

const DAY_MS = 86_400_000;

async function verdictOf(place: string, options = {}): Promise<Verdict> {
  const verdicts: Verdict[] = [];
  for await (const verdict of verify([place], options)) verdicts.push(verdict);
  return verdicts.at(-1) as Verdict;
}

const rules = ({ violations }: Verdict): string[] => [...new Set(violations.map(({ rule_id }) => rule_id))].sort();

/** A run that printed something and left two files. */
async function ended(settings: object, keep: object | undefined, isSigned = false) {
  const world = new PublishWorld();
  world.settings(settings);
  world.script(keep ? { keep } : {});
  world.file(
    'run.sh',
    'echo secret log; mkdir -p output/sub; echo 1 > output/a.txt; echo 2 > output/sub/b.txt\n' +
      'printf \'{"contract_version":1,"status":"succeeded","html_output":"<p>hi</p>","error_summary":null,"artifacts":[{"path":"output/a.txt","bytes":2}]}\' > result.json\n',
  );
  await publishScript('tool', { cwd: world.cwd });
  const pair = isSigned ? newKeyPair() : undefined;
  const signingKey = path.join(world.cwd, 'key.pem');
  if (pair) writeFileSync(signingKey, pair.privatePem, { mode: 0o600 });
  const run = await runPublished({ name: 'echo', cwd: world.cwd }, pair ? { signingKey } : {});
  const after = (days: number) => {
    const warnings: string[] = [];
    const nowMs = Date.now() + days * DAY_MS;
    const signed = pair ? { signingKey } : {};
    const tended = tendScriptRuns(world.cwd, { nowMs, onWarning: text => warnings.push(text), ...signed });
    return tended.then(({ expired }) => ({ expired: expired.map(({ what }) => what), warnings }));
  };
  return { world, run, folder: run.folder, after, pair };
}

/** Replaces the statement of the note in a folder. */
function restate(folder: string, change: (statement: ExpiryStatement) => ExpiryStatement): void {
  const file = path.join(folder, 'evidence', 'expired.json');
  const opened = openExpiry(JSON.parse(readFileSync(file, 'utf8')));
  if (!opened) throw new Error('the note is not readable');
  writeFileSync(file, canonicalize(sealDocument(change(opened.statement))));
}

describe('retention', () => {
  test('removes outputs, then logs, and keeps a record that verifies and says what expired', async () => {
    const { world, run, folder, after } = await ended({ keep_outputs: '30d', keep_logs: '90d' }, undefined);
    expect(await after(29)).toEqual({ expired: [], warnings: [] });
    expect(await after(31)).toEqual({ expired: ['outputs'], warnings: [] });
    expect(existsSync(path.join(folder, 'output'))).toBe(false);
    expect(existsSync(path.join(folder, 'evidence', 'internal'))).toBe(true);
    const first = await verdictOf(folder);
    expect(first).toMatchObject({ outcome: 'valid', violations: [], advice: [] });
    expect(first.not_checked).toContainEqual(
      expect.stringMatching(/^2 files that expired by 2\d{3}-.*Z: output\/a\.txt, output\/sub\/b\.txt$/),
    );
    expect(first.not_checked).not.toContainEqual(expect.stringMatching(/whether the seal of the run lists/));
    expect(await after(40)).toEqual({ expired: [], warnings: [] });

    expect(await after(91)).toEqual({ expired: ['logs'], warnings: [] });
    expect(readdirSync(path.join(folder, 'evidence', 'steps', 'script'))).toEqual(['manifest.json']);
    expect(existsSync(path.join(folder, 'evidence', 'internal'))).toBe(false);
    const second = await verdictOf(folder);
    expect(second).toMatchObject({ outcome: 'valid', violations: [], advice: [] });
    expect(second.not_checked.join()).toMatch(/stdout\.txt/);

    const view = publishedRunView(world.cwd, run.runId);
    expect(view).toMatchObject({
      state: 'succeeded',
      html_output: null,
      files: [{ state: 'expired' }, { state: 'expired' }],
    });
    expect(view.outputs_expired_at).not.toBeNull();
    expect(await faultOf(() => downloadOutput(world.cwd, run.runId, 'a.txt'))).toMatch(/^no_output: /);
    expect(readRecord(world.home, run.runId)?.expired.logs).toBeDefined();
  });

  test('of a script can shorten the time of the server, but not extend it', async () => {
    expect((await (await ended({ keep_outputs: '30d' }, { outputs: '2d', logs: '1d' })).after(3)).expired).toEqual([
      'outputs',
      'logs',
    ]);
    expect((await (await ended({ keep_outputs: '1d' }, { outputs: '30d' })).after(2)).expired).toEqual(['outputs']);
    expect((await (await ended({}, undefined)).after(10_000)).expired).toEqual([]);
  });

  test('counts from when the server takes the run of a worker, and ignores the clock of the worker', async () => {
    const { world, run, after } = await ended({ keep_outputs: '1d' }, undefined);
    const at = instantText(Date.now() + 10 * DAY_MS);
    noteRun(world.home, run.runId, { is: 'taken', at, worker: 'w1', key_id: bytesHash(Buffer.from('key')) });
    expect((await after(5)).expired).toEqual([]);
    expect((await after(12)).expired).toEqual(['outputs']);
  });

  test('of a signed run needs its key, and the note is signed with it', async () => {
    const { folder, after, pair, world, run } = await ended({ keep_outputs: '1d' }, undefined, true);
    const without = await tendScriptRuns(world.cwd, { nowMs: Date.now() + 2 * DAY_MS });
    expect(without.expired).toEqual([]);
    expect(existsSync(path.join(folder, 'output', 'a.txt'))).toBe(true);
    expect(await after(2)).toEqual({ expired: ['outputs'], warnings: [] });
    const options = { key: pair?.publicPem, requireSignature: true };
    expect(await verdictOf(folder, options)).toMatchObject({ outcome: 'valid', violations: [] });
    expect(run.keyId).not.toBeNull();
    restate(folder, statement => ({ ...statement, predicate: { ...statement.predicate, signed: false } }));
    expect(rules(await verdictOf(folder))).toEqual(['EX6', 'SL5']);
    expect(rules(await verdictOf(folder, options))).toContain('SL10');
  });

  test('is packed as it is, and the pack verifies', async () => {
    const { world, run, after } = await ended({ keep_outputs: '1d', keep_logs: '1d' }, undefined);
    await after(2);
    for (const internal of [false, true]) {
      const out = path.join(world.cwd, `${internal}.tar`);
      await packRun(run.runId, { cwd: world.cwd, out, internal });
      expect(await verdictOf(out)).toMatchObject({ outcome: 'valid', violations: [] });
    }
  });

  test('leaves a file that changed after the seal, and warns', async () => {
    const { folder, after } = await ended({ keep_outputs: '1d' }, undefined);
    writeFileSync(path.join(folder, 'output', 'a.txt'), 'x\n');
    const { expired, warnings } = await after(2);
    expect(expired).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/output\/a\.txt changed after the run was sealed/)]);
    expect(rules(await verdictOf(folder))).toContain('SL5');
  });

  test.each<[string, (folder: string) => void, string[]]>([
    ['without its note', folder => rmSync(path.join(folder, 'evidence', 'expired.json')), ['SL5']],
    [
      'with a further file missing',
      folder => rmSync(path.join(folder, 'evidence', 'steps', 'script', 'stdout.txt')),
      ['FD2'],
    ],
    [
      'with the note of another seal',
      folder => restate(folder, note => ({ ...note, predicate: { ...note.predicate, seal_sha256: bytesHash('x') } })),
      ['EX5', 'SL5'],
    ],
    [
      'with the note of another run',
      folder => restate(folder, note => ({ ...note, predicate: { ...note.predicate, run_id: 'other' } })),
      ['EX5', 'SL5'],
    ],
    [
      'with another digest',
      folder =>
        restate(folder, note => ({
          ...note,
          subject: note.subject.map(one => ({ ...one, digest: { sha256: '0'.repeat(64) } })),
        })),
      ['EX5', 'SL5'],
    ],
    [
      'with a document among the expired',
      folder => {
        restate(folder, note => ({
          ...note,
          subject: [
            { ...(note.subject[0] as ExpiryStatement['subject'][number]), name: 'evidence/outcome.json' },
            ...note.subject,
          ],
        }));
      },
      ['EX3', 'SL5'],
    ],
  ])('%s does not verify', async (_, spoil, broken) => {
    const { folder, after } = await ended({ keep_outputs: '1d' }, undefined);
    await after(2);
    spoil(folder);
    const verdicts: Verdict[] = [];
    for await (const verdict of verify([folder])) verdicts.push(verdict);
    expect([...new Set(verdicts.flatMap(rules))].sort()).toEqual(broken);
  });

  test('does not excuse a file that is still there and changed', async () => {
    const { folder, after } = await ended({ keep_outputs: '1d' }, undefined);
    const copy = `${folder}-copy`;
    cpSync(path.join(folder, 'output'), copy, { recursive: true });
    await after(2);
    cpSync(copy, path.join(folder, 'output'), { recursive: true });
    expect(await verdictOf(folder)).toMatchObject({ outcome: 'valid' });
    writeFileSync(path.join(folder, 'output', 'a.txt'), '9\n');
    expect(rules(await verdictOf(folder))).toEqual(['SL5']);
  });
});
