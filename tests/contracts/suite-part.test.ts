import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  EXAMPLE_ALL,
  EXAMPLE_CASES,
  EXAMPLE_RUN,
  exampleDigest,
  examplePart,
} from '../../src/contracts/suite-part/example.ts';
import { type OpenedPart, openPart, type PartedRun, partRules } from '../../src/contracts/suite-part/index.ts';
import { signerWith } from '../../src/contracts/seal/index.ts';

const key = signerWith(generateKeyPairSync('ed25519').privateKey);
const other = signerWith(generateKeyPairSync('ed25519').privateKey);

function opened(index: number, signer = key): OpenedPart {
  const opening = openPart(examplePart(index, signer));
  if (!opening.ok) throw new Error(opening.message);
  return opening.part;
}

/** A sound merged run of two signed parts. */
function whole(parts: readonly OpenedPart[] = [opened(1), opened(2)]): PartedRun {
  const [first] = parts as [OpenedPart];
  const { shard: _, ...request } = first.request;
  return {
    request: {
      ...request,
      run_id: EXAMPLE_RUN,
      repetition: { of: EXAMPLE_RUN, number: 1, total: 1 },
      cases: EXAMPLE_ALL,
      merged: { parts: parts.length, all: EXAMPLE_ALL, missing: [] },
    },
    run: { ...first.run, selected_case_ids: EXAMPLE_CASES },
    parts,
    files: new Map(EXAMPLE_CASES.map(id => [`${id}.json`, exampleDigest(id)])),
    linesOf: (name, part) => part.files.get(name),
    keys: [key],
  };
}

function brokenIn(run: PartedRun): string[] {
  return partRules.filter(({ check }) => [...check(run)].length > 0).map(({ id }) => id);
}

test('accepts a run whose parts agree and are complete', () => {
  expect(brokenIn(whole())).toEqual([]);
});

test.each(partRules.map(rule => [rule.id, rule] as const))(
  '%s is broken by its breach, and no other rule is',
  (id, rule) => {
    expect(brokenIn(rule.breach(whole()))).toEqual([id]);
  },
);

describe('PT2', () => {
  test('accepts an asset of no case under the number of its part', () => {
    const withLog = (part: OpenedPart, at: number): OpenedPart => ({
      ...part,
      files: new Map([...part.files, ['assets/target.log', exampleDigest(`log ${at}`)]]),
    });
    const [first, second] = [withLog(opened(1), 0), withLog(opened(2), 1)];
    const run = whole([first, second]);
    const logs = [0, 1].map(at => [`assets/part${at + 1}.target.log`, exampleDigest(`log ${at}`)] as const);
    expect(brokenIn({ ...run, files: new Map([...run.files, ...logs]) })).toEqual([]);
    expect(brokenIn({ ...run, files: new Map([...run.files, logs[0] as never]) })).toEqual(['PT2']);
  });

  test('notices a case that was dropped, an added file, and lines that were not sealed', () => {
    const run = whole();
    const fewer = new Map([...run.files].slice(1));
    expect(brokenIn({ ...run, files: fewer })).toEqual(['PT2']);
    expect(brokenIn({ ...run, files: new Map([...run.files, ['assets/x', exampleDigest('x')]]) })).toEqual(['PT2']);
    expect(brokenIn({ ...run, linesOf: () => exampleDigest('other') })).toEqual(['PT2']);
  });
});

test('PT3 rejects a run that calls a checkout clean although a part saw changes', () => {
  const changed = opened(2);
  const parts = [opened(1), { ...changed, run: { ...changed.run, dirty: true } }];
  const run = whole(parts);
  expect(brokenIn(run)).toEqual(['PT3']);
  expect(brokenIn({ ...run, run: { ...run.run, dirty: true } })).toEqual([]);
});

test('PT3 names what the parts disagree on', () => {
  const [first, second] = [opened(1), opened(2)];
  const settings = { ...second.request.settings, retries: 9 };
  const run = whole([first, { ...second, request: { ...second.request, settings } }]);
  const [finding] = partRules.find(({ id }) => id === 'PT3')?.check(run) ?? [];
  expect(finding?.message).toMatch(/disagree on settings: 1 \(.*shard 1\/2\) and 2 \(/);
});

test('PT5 accepts a run that lists what it lacks, and no other list', () => {
  const [first] = [opened(1)];
  const run = whole([first]);
  const ids = first.run.selected_case_ids;
  const partial: PartedRun = {
    ...run,
    request: {
      ...run.request,
      cases: first.request.cases,
      merged: { parts: 1, all: EXAMPLE_ALL, missing: [{ index: 2, cases: 1 }] },
    },
    run: { ...run.run, selected_case_ids: ids },
    files: new Map(ids.map(id => [`${id}.json`, exampleDigest(id)])),
  };
  expect(brokenIn(partial)).toEqual([]);
  const silent = { ...partial.request, merged: { parts: 1, all: EXAMPLE_ALL, missing: [] } };
  expect(brokenIn({ ...partial, request: silent })).toEqual(['PT5']);
});

test('PT6 accepts any of several keys, and names the cases that rest on a revoked one', () => {
  const run = whole([opened(1), opened(2, other)]);
  expect(brokenIn({ ...run, keys: [key] })).toEqual(['PT6']);
  expect(brokenIn({ ...run, keys: [key, other] })).toEqual([]);
  const pt6 = partRules.find(({ id }) => id === 'PT6');
  const [finding, more] = pt6?.check({ ...run, keys: [key, other], revoked: [other] }) ?? [];
  expect(finding?.message).toContain(`revoked key ${other.keyId}`);
  expect(finding?.message).toContain('Cases that rest on it: refund-large');
  expect(more).toBeUndefined();
});

test.each([
  ['a seal that does not open', { seal: '{}' }, 'seal'],
  ['no request', { documents: examplePart(1).documents.slice(1) }, 'documents'],
  ['a document of another part', { documents: examplePart(2).documents }, 'documents[0].text'],
  ['a document twice', { documents: [...examplePart(1).documents, ...examplePart(1).documents] }, 'documents[2].path'],
])('PT1 refuses %s', (_, change, at) => {
  const opening = openPart({ ...examplePart(1), ...change });
  expect(opening.ok ? undefined : opening.path).toBe(at);
});
