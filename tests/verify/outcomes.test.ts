import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { newKeyPair } from '../../src/base/ed25519.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { verify } from '../../src/verify/index.ts';
import { queueWorld } from '../run/suite/queue-world.ts';
import { temporaryFolder } from '../support/support.ts';

const copies = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
afterAll(() => rmSync(copies, { recursive: true, force: true }));

let made: Promise<{ readonly sealed: string; readonly key: string }> | undefined;

/** A sealed run, made by the first test that needs one. */
function sealedRun() {
  made ??= (async () => {
    const { run, worker, folder } = await queueWorld({ ids: ['a', 'b'] });
    const { keyFile } = worker({ name: 'w1' });
    await run();
    const sealed = path.join(copies, 'run');
    cpSync(folder, sealed, { recursive: true });
    return { sealed, key: readFileSync(keyFile, 'utf8') };
  })();
  return made;
}

/** The rules about outcomes that a copy breaks after a change. The seal reports every change as well. */
async function broken(change: (folder: string) => void, keys?: string): Promise<string[]> {
  const { sealed } = await sealedRun();
  const folder = path.join(temporaryFolder(), 'run');
  cpSync(sealed, folder, { recursive: true });
  change(folder);
  const found: string[] = [];
  for await (const { violations } of verify([folder], keys === undefined ? {} : { key: keys }))
    found.push(
      ...violations
        .filter(({ rule_id }) => rule_id.startsWith('WO'))
        .map(({ rule_id, path: at }) => `${rule_id} ${at}`),
    );
  return found.sort();
}

const OUTCOMES = 'assets/outcomes.ndjson';

function edit(file: string, change: (text: string) => string): (folder: string) => void {
  return folder => {
    const before = readFileSync(path.join(folder, file), 'utf8');
    writeFileSync(path.join(folder, file), change(before));
  };
}

const lines = (change: (lines: string[]) => string[]) =>
  edit(OUTCOMES, text => `${change(text.trimEnd().split('\n')).join('\n')}\n`);

describe('the outcomes of workers', () => {
  test('agree with the attempts of the run, and with the key of the worker', async () => {
    expect(await broken(() => undefined)).toEqual([]);
    expect(await broken(() => undefined, (await sealedRun()).key)).toEqual([]);
  });

  test('are refused if another key signed them', async () => {
    expect(await broken(() => undefined, newKeyPair().publicPem)).toEqual([`WO7 ${OUTCOMES}:1`, `WO7 ${OUTCOMES}:2`]);
  });

  test('name the cases that rest on a revoked key', async () => {
    const { sealed, key } = await sealedRun();
    const found: string[] = [];
    for await (const { violations } of verify([sealed], { key: [key, newKeyPair().publicPem], revoked: [key] }))
      found.push(...violations.filter(({ rule_id }) => rule_id === 'WO7').map(({ message }) => message));
    const cases = found.map(message => /revoked key .* (Case \w+) rests on it/.exec(message)?.[1]);
    expect(cases.toSorted((one = '', other = '') => one.localeCompare(other))).toEqual(['Case a', 'Case b']);
  });

  test.each([
    ['worker', '"worker":"w1"', '"worker":"w2"'],
    ['latency', /"latency_ms":[\d.]+/, '"latency_ms":1e3'],
    ['status', '"http_status":200', '"http_status":201'],
    ['start', /"started_at":"[^"]+"/, '"started_at":"2026-01-01T00:00:00.000Z"'],
    ['reply', /"reply_sha256":"sha256:.{64}"/, `"reply_sha256":"${bytesHash('x')}"`],
  ])('disagree with an attempt that has another %s', async (_, from, to) => {
    expect(await broken(edit('a.json', text => text.replace(from, to)))).toEqual(['WO6 a.json#attempts[0]']);
  });

  test('are missing for an attempt that names none', async () => {
    const found = await broken(edit('a.json', text => text.replace(/"outcome_sha256":"sha256:.{64}",/, '')));
    expect(found).toEqual([
      'WO6 a.json#attempts[0]',
      expect.stringMatching(/^WO6 assets\/outcomes\.ndjson:\d#payload$/),
    ]);
  });

  test('must all be there, once', async () => {
    expect(await broken(lines(([first = '']) => [first]))).toEqual([
      expect.stringMatching(/^WO6 [ab]\.json#attempts\[0\]$/),
    ]);
    expect(await broken(lines(all => [...all, all[0] ?? '']))).toEqual([`WO6 ${OUTCOMES}:3`]);
  });

  test('belong to a queued run, its target and its cases', async () => {
    const notQueued = await broken(edit('evidence/request.json', text => text.replace('"queued":true,', '')));
    expect(notQueued).toEqual([1, 2].map(line => `WO6 ${OUTCOMES}:${line}#payload.predicate.run_id`));
    const otherCase = await broken(edit('assets/cases.ndjson', text => text.replace('"user":"a"', '"user":"z"')));
    expect(otherCase).toEqual([expect.stringMatching(/#payload\.predicate\.case_sha256$/)]);
  });

  test('do not survive a change of a single byte', async () => {
    const { sealed, key } = await sealedRun();
    const text = readFileSync(path.join(sealed, OUTCOMES));
    for (let at = 7; at < text.length; at += 97) {
      const folder = path.join(temporaryFolder(), 'run');
      cpSync(sealed, folder, { recursive: true });
      const changed = Buffer.from(text);
      changed[at] = (changed[at] ?? 0) ^ 1;
      writeFileSync(path.join(folder, OUTCOMES), changed);
      const outcomes: string[] = [];
      for await (const { outcome } of verify([folder], { key })) outcomes.push(outcome);
      expect(
        outcomes.some(outcome => outcome !== 'valid'),
        `byte ${at}`,
      ).toBe(true);
    }
  });
});
