/** Attempts to change a verdict afterwards: evaluations, comparisons and accepted baselines. */
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { type SealEnvelope, sealEnvelope, signerWith } from '../../src/contracts/seal/index.ts';
import type { Place } from '../support/runs.ts';
import { canLackSandbox, Forged, makeJudgedPlace, statementIn } from '../support/judged-world.ts';

let place: Place;
beforeAll(() => {
  place = makeJudgedPlace();
});
afterAll(() => place.remove());

const stranger = signerWith(generateKeyPairSync('ed25519').privateKey);
const EVALUATION = 'evaluation.json';
const SEAL = 'evaluation.seal.json';
const KEY = ['--key', '.proctor/keys/signing.pub', '--require-signature'];

/** A signer that claims the project's key id but uses another key. */
function inTheNameOf({ cwd }: Forged): typeof stranger {
  const envelope = JSON.parse(readFileSync(path.join(cwd, '.proctor/runs/new/after', SEAL), 'utf8')) as SealEnvelope;
  return { ...stranger, keyId: envelope.signatures[0]?.keyid ?? '' };
}

/** Everything below a folder, by path and hash. */
function digest(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  const lines = files.map(({ parentPath, name }) => {
    const file = path.join(parentPath, name);
    return `${bytesHash(readFileSync(file))} ${path.relative(folder, file)}`;
  });
  return lines.sort().join('\n');
}

const firstLine = (why: RegExp): RegExp => new RegExp(`^! The evaluation of after is not trusted: it ${why.source}`);

/** Neither `compare` nor `show` accepts the failed case as passed; each first reports what it does not trust. */
function expectRefuted(here: Forged, why: RegExp): void {
  const compared = here.proctor('compare', 'before', 'after', '--gate', 'strict');
  expect(compared.code, compared.stdout + compared.stderr).toBe(1);
  expect(compared.stdout).toMatch(firstLine(why));
  const shown = here.proctor('show', 'after');
  expect(shown.stdout).toMatch(firstLine(why));
  expect(shown.stdout).not.toContain('1 passed');
  expect(here.proctor('verify', here.after, ...KEY).code).toBe(3);
}

/** The same for every other command that reads an evaluation, and for JSON output. */
function expectRefutedEverywhere(here: Forged, why: RegExp): void {
  const json = JSON.parse(here.proctor('compare', 'before', 'after', '--gate', 'strict', '--json').stdout) as {
    judgements: object[];
  };
  const untrusted = { id: 'after', state: expect.stringMatching(/missing|broken/), judged: 'again' };
  expect(json.judgements).toContainEqual(expect.objectContaining(untrusted));
  const told = JSON.parse(here.proctor('show', 'after', '--json').stdout) as object;
  expect(told).toMatchObject({ judgement: { ...untrusted, judged: 'not' } });
  const report = here.proctor('report', 'after', '--format', 'json');
  expect(report.stdout).toMatch(firstLine(why));
  const written = path.join(here.cwd, '.proctor', 'reports', 'after', 'report.json');
  expect(JSON.parse(readFileSync(written, 'utf8'))).toMatchObject({ summary: { passed: 0, failed: 1 } });
  const accepted = here.proctor('baseline', 'accept', 'after', '--out', 'other.json');
  expect(accepted.stdout).toMatch(firstLine(why));
  expect(accepted.stdout).toContain('1 case, 0 passing');
}

describe('an evaluation with a check script', () => {
  test('is reused while it is unchanged, without running the check again', () => {
    const here = new Forged(place);
    const { code, stdout } = here.proctor('compare', 'before', 'after', '--gate', 'strict');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ Regression /m);
    expect(here.proctor('show', 'after').stdout).toMatch(/^✗ 1 of 1 case answered, 0 passed/);
    expect(here.proctor('verify', '.proctor', ...KEY).code).toBe(0);
    const [comparison] = readdirSync(path.join(here.cwd, '.proctor', 'comparisons')).slice(-1) as [string];
    const folder = path.join(here.cwd, '.proctor', 'comparisons', comparison);
    const seal = JSON.parse(readFileSync(path.join(folder, 'comparison.seal.json'), 'utf8')) as SealEnvelope;
    const named = statementIn(seal).predicate.rests_on.map(({ what, side, id }) => `${side} ${what} ${id}`);
    expect(named).toEqual([
      'baseline run before',
      'baseline evaluation before',
      'new run after',
      'new evaluation after',
    ]);
  });

  test('is rejected if it was edited', () => {
    const here = new Forged(place);
    here.whitewash();
    expectRefuted(here, /was changed after it was sealed/);
    expectRefutedEverywhere(here, /was changed after it was sealed/);
  });

  test('is rejected if it was edited and sealed again without the key', () => {
    const here = new Forged(place);
    here.whitewash();
    here.reseal(here.after, SEAL);
    expectRefuted(here, /is not signed, but its run is/);
  });

  test('is rejected if it was edited and signed with another key', () => {
    const here = new Forged(place);
    here.whitewash();
    here.reseal(here.after, SEAL, stranger);
    expectRefuted(here, /is signed with a different key than its run/);
  });

  test('is rejected if another key signed it under the id of this key', () => {
    const here = new Forged(place);
    const forger = inTheNameOf(here);
    here.whitewash();
    here.reseal(here.after, SEAL, forger);
    expectRefuted(here, /has an invalid signature/);
  });

  test('is rejected if it and its seal belong to another run', () => {
    const here = new Forged(place);
    for (const name of [EVALUATION, SEAL]) copyFileSync(path.join(here.before, name), path.join(here.after, name));
    expectRefuted(here, /has the seal of another run/);
  });

  test('is rejected if its seal was removed', () => {
    const here = new Forged(place);
    here.whitewash();
    rmSync(path.join(here.after, SEAL));
    expectRefuted(here, /has no seal/);
  });

  test('is repeated if both of its files were removed', () => {
    const here = new Forged(place);
    for (const name of [EVALUATION, SEAL]) rmSync(path.join(here.after, name));
    expect(here.proctor('compare', 'before', 'after', '--gate', 'strict').code).toBe(1);
  });

  test.runIf(canLackSandbox)('makes compare fail if the check cannot run again, instead of ignoring the case', () => {
    const here = new Forged(place);
    here.whitewash();
    const { code, stderr } = here.withoutSandbox('compare', 'before', 'after');
    expect(stderr).toContain('so the run cannot be judged again');
    expect(code).toBe(2);
  });
});

test('read-only commands write into neither runs nor comparisons, and compare writes only into its own folder', () => {
  const here = new Forged(place);
  const runs = digest(path.join(here.cwd, '.proctor', 'runs'));
  const old = here.comparison;
  const comparison = digest(old);
  for (const args of [
    ['compare', 'before', 'after', '--rejudge', '--gate', 'strict'],
    ['compare', 'proctor-baseline.json', 'after', '--gate', 'strict'],
    ['report', 'after'],
    ['report', path.basename(old)],
    ['show', 'after'],
    ['list'],
    ['baseline', 'accept', 'after'],
  ]) {
    const { code, stderr } = here.proctor(...args);
    expect(code, args.join(' ') + stderr).toBeLessThan(2);
  }
  expect(digest(path.join(here.cwd, '.proctor', 'runs'))).toBe(runs);
  expect(digest(old)).toBe(comparison);
  expect(existsSync(path.join(here.cwd, '.proctor', 'reports', path.basename(old), 'report.html'))).toBe(true);
});

test.each([
  ['the folder of a run', (here: Forged) => here.after],
  ['a folder inside a run', (here: Forged) => path.join(here.after, 'assets')],
  ['the folder of a comparison', (here: Forged) => here.comparison],
])('refuses to write a report into %s', (_, folderOf) => {
  const here = new Forged(place);
  const { code, stderr } = here.proctor('report', 'after', '--out', folderOf(here));
  expect(code).toBe(2);
  expect(stderr).toContain('sealed run or comparison');
});

describe('a comparison', () => {
  const whitewash = (here: Forged): void =>
    here.edit(path.join(here.comparison, 'comparison.json'), text =>
      text
        .replaceAll('"verdict":"fail"', '"verdict":"pass"')
        .replace('"change":"regressed"', '"change":"same"')
        .replace('"exit_code":1', '"exit_code":0'),
    );
  const refused = (here: Forged, why: string): void => {
    const { code, stdout, stderr } = here.proctor('report', here.comparison, '--format', 'terminal');
    expect(stderr).toContain(`The comparison is not trusted: it ${why}`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(here.proctor('verify', here.comparison, ...KEY).code).toBe(3);
  };

  test('is refused if it was edited', () => {
    const here = new Forged(place);
    whitewash(here);
    refused(here, 'was changed after it was sealed');
  });

  test('is refused if its seal was removed', () => {
    const here = new Forged(place);
    whitewash(here);
    rmSync(path.join(here.comparison, 'comparison.seal.json'));
    refused(here, 'has no seal');
  });

  test.each([
    ['without the key', () => undefined, 'is not signed with the key'],
    ['with another key', () => stranger, 'is signed with a different key'],
    ['with another key under the id of this key', inTheNameOf, 'has an invalid signature'],
  ] as const)('is refused if it was sealed again %s', (_, signerOf, why) => {
    const here = new Forged(place);
    const signer = signerOf(here);
    whitewash(here);
    here.reseal(here.comparison, 'comparison.seal.json', signer);
    refused(here, why);
  });

  test('is refused with the seal of another comparison', () => {
    const here = new Forged(place);
    const old = here.comparison;
    const seal = path.join(old, 'comparison.seal.json');
    const made = JSON.parse(here.proctor('compare', 'before', 'before', '--json').stdout || '{}') as {
      folder?: string;
    };
    expect(made.folder).toBeUndefined();
    const other = JSON.parse(here.proctor('compare', 'before', 'after', '--gate', 'strict', '--json').stdout) as {
      folder: string;
    };
    copyFileSync(path.join(here.cwd, other.folder, 'comparison.seal.json'), seal);
    const { code, stderr } = here.proctor('report', old);
    expect(stderr).toContain('The comparison is not trusted: it was changed after it was sealed');
    expect(code).toBe(2);
    expect(here.proctor('verify', old, ...KEY).code).toBe(3);
  });

  test('is rejected if only its page was changed', () => {
    const here = new Forged(place);
    here.edit(path.join(here.comparison, 'report.html'), text => text.replace('</html>', '<p>all good</p></html>'));
    const { code, stdout } = here.proctor('verify', here.comparison);
    expect(stdout).toContain('report.html was changed after it was sealed');
    expect(code).toBe(3);
  });
});

describe('an accepted baseline', () => {
  const BASELINE = 'proctor-baseline.json';
  type Document = { seal?: SealEnvelope; [key: string]: unknown };

  /** A baseline in which nothing ever passed, so that nothing can regress. */
  const lowered = (text: string): Document => {
    const document = JSON.parse(text) as Document;
    const cases = JSON.parse(
      JSON.stringify(document['cases']).replaceAll('"verdict":"pass"', '"verdict":"fail"'),
    ) as object;
    return { ...document, cases };
  };

  function resealed(document: Document, signer?: typeof stranger): Document {
    const { seal, ...bare } = document;
    const { predicate, ...rest } = statementIn(seal as SealEnvelope);
    const text = `${canonicalize(bare)}\n`;
    const digest = { sha256: bytesHash(text).slice('sha256:'.length) };
    const subject = [{ name: BASELINE, digest, annotations: { size_bytes: Buffer.byteLength(text) } }];
    return { ...bare, seal: sealEnvelope({ ...rest, subject, predicate: { ...predicate, signed: false } }, signer) };
  }

  const refused = (here: Forged, why: string): void => {
    const { code, stdout, stderr } = here.proctor('compare', BASELINE, 'after', '--gate', 'strict');
    expect(stderr).toContain(why);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(here.proctor('verify', BASELINE, ...KEY).code).toBe(3);
  };

  const forge = (here: Forged, change: (text: string) => Document): void =>
    here.edit(path.join(here.cwd, BASELINE), text => `${canonicalize(change(text))}\n`);

  test('is used while it is unchanged, even after a formatter rewrote it', () => {
    const here = new Forged(place);
    expect(here.proctor('compare', BASELINE, 'after', '--gate', 'strict').code).toBe(1);
    here.edit(path.join(here.cwd, BASELINE), text => JSON.stringify(JSON.parse(text), null, 2));
    expect(here.proctor('compare', BASELINE, 'after', '--gate', 'strict').code).toBe(1);
    expect(here.proctor('verify', BASELINE, ...KEY).code).toBe(0);
  });

  test('is refused if it was edited', () => {
    const here = new Forged(place);
    forge(here, lowered);
    refused(here, 'it changed after it was accepted');
    expect(here.proctor('verify', BASELINE).code).toBe(3);
  });

  test('is refused without its seal', () => {
    const here = new Forged(place);
    forge(here, text => {
      const { seal: _, ...bare } = lowered(text);
      return bare;
    });
    refused(here, `${BASELINE} has no seal`);
  });

  test.each([
    ['without the key', () => undefined, 'is not signed with the key'],
    ['with another key', () => stranger, 'is signed with a different key'],
    ['with another key under the id of this key', inTheNameOf, 'has an invalid signature'],
  ] as const)('is refused if it was sealed again %s', (_, signerOf, why) => {
    const here = new Forged(place);
    const signer = signerOf(here);
    forge(here, text => resealed(lowered(text), signer));
    refused(here, why);
  });

  test('is refused with the seal of another baseline', () => {
    const here = new Forged(place);
    here.proctor('baseline', 'accept', 'after', '--out', 'other.json');
    const { seal } = JSON.parse(readFileSync(path.join(here.cwd, 'other.json'), 'utf8')) as Document;
    forge(here, text => ({ ...(JSON.parse(text) as Document), ...(seal && { seal }) }));
    refused(here, 'seal');
  });

  test("of another user is accepted only with that user's public key", () => {
    const here = new Forged(place);
    cpSync(path.join(here.cwd, '.proctor', 'keys'), path.join(here.cwd, 'theirs'), { recursive: true });
    rmSync(path.join(here.cwd, '.proctor', 'keys'), { recursive: true });
    here.proctor('keys', 'new');
    expect(here.proctor('compare', BASELINE, 'after', '--gate', 'strict').code).toBe(2);
    expect(here.proctor('compare', BASELINE, 'after', '--gate', 'strict', '--key', 'theirs/signing.pub').code).toBe(1);
    expect(
      here.proctor('compare', BASELINE, 'after', '--gate', 'strict', '--key', '.proctor/keys/signing.pub').code,
    ).toBe(2);
  });
});
