import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { runner } from '../../../src/contracts/runner/index.ts';
import { verifyUploadRoute } from '../../../src/serve/routes/verify.ts';
import type { VerdictView } from '../../../src/verbs/evidence/evidence-view.ts';
import { packRun } from '../../../src/verbs/pack.ts';
import { signerAt } from '../../../src/verbs/keys.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { suiteFolder } from '../../support/suite-world.ts';

let place: Place;
let project: ServedProject;
let pack: Buffer;

beforeAll(async () => {
  place = new Place();
  expect(place.proctor(['keys', 'new']).code).toBe(0);
  const signer = signerAt(place.cwd);
  const folder = await suiteFolder(path.join(place.cwd, '.proctor', 'runs'), { cases: [{ id: 'a' }], signer });
  const out = path.join(place.cwd, 'run.proctor.tar');
  await packRun(folder, { cwd: place.cwd, out });
  pack = readFileSync(out);
  mkdirSync(path.join(place.cwd, '.proctor/server/uploads/left'), { recursive: true, mode: 0o700 });
  writeFileSync(path.join(place.cwd, '.proctor/server/uploads/left/body'), 'a killed server left this');
  project = await servedUntilStopped(place.cwd);
});

afterAll(async () => {
  await project.stop();
  place.remove();
});

async function verdictOn(bytes: string | Buffer): Promise<VerdictView> {
  const body = typeof bytes === 'string' ? bytes : new Uint8Array(bytes);
  const { status, body: view } = await project.json('/v1/verify', { method: 'POST', body });
  expect(status).toBe(200);
  expect(misfits(verifyUploadRoute, view)).toEqual([]);
  expect(JSON.stringify(view)).not.toContain(place.cwd);
  return view as VerdictView;
}

const uploads = (): string[] => {
  const folder = path.join(place.cwd, '.proctor', 'server', 'uploads');
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe('an uploaded file', () => {
  test('that is a signed pack of this project verifies, and leaves nothing behind', async () => {
    const before = readdirSync(path.join(place.cwd, '.proctor', 'runs', 'baseline'));
    const view = await verdictOn(pack);
    expect(view).toMatchObject({
      what: 'pack',
      bytes: pack.length,
      top: { tone: 'good', word: 'Verifies' },
      verified: { outcome: 'valid', broken: [] },
      signature: { state: 'valid' },
      seal: { kind: 'suite' },
    });
    expect(view.files.map(({ path: name }) => name)).toContain('folder/evidence/seal.json');
    expect(uploads()).toEqual([]);
    expect(readdirSync(path.join(place.cwd, '.proctor', 'runs', 'baseline'))).toEqual(before);
  });

  test('that is a forged pack does not verify, and every violation has a rule and a sentence', async () => {
    const forged = Buffer.from(pack);
    const at = forged.indexOf('What about a?');
    forged.write('What about b?', at);
    const { top, verified } = await verdictOn(forged);
    expect(top.word).toBe('Does not verify');
    const violations = verified.broken.flatMap(part => part.violations);
    expect(violations.length).toBe(verified.violations_total);
    for (const { rule_id, message } of violations) expect(`${rule_id} ${message}`).toMatch(/^[A-Z]{2,3}\d+ \S/);
  });

  test('that is a pack with a changed signature does not verify', async () => {
    const text = pack.toString('latin1');
    const at = text.indexOf('"sig":"') + 7;
    const forged = Buffer.from(pack);
    forged[at] = forged[at] === 0x41 ? 0x42 : 0x41;
    expect(await verdictOn(forged)).toMatchObject({
      top: { word: 'Does not verify' },
      signature: { state: 'wrong' },
    });
  });

  test.each([
    ['a valid document', canonicalize(runner.example), { outcome: 'valid' }, 'Verifies'],
    [
      'a broken document',
      canonicalize({ ...(runner.example as object), runner_id: 7 }),
      { outcome: 'invalid' },
      'Does not verify',
    ],
    ['an unknown document', '{"a":1}', { outcome: 'refused' }, 'Refused'],
    ['no document', 'hello \u202e', { outcome: 'refused' }, 'Refused'],
    ['nothing', '', { outcome: 'refused' }, 'Refused'],
  ])('that is %s gets a verdict of its own', async (_, text, verified, word) => {
    expect(await verdictOn(text)).toMatchObject({ what: 'document', seal: null, verified, top: { word } });
  });

  test('that is a cut pack is refused or invalid, at every cut', async () => {
    for (const bytes of [513, 1_500, pack.length - 1_024]) {
      const { top } = await verdictOn(pack.subarray(0, bytes));
      expect(top.tone).toBe('bad');
    }
    expect(uploads()).toEqual([]);
  });

  test('that says it is too large is refused before it is read', async () => {
    const { port } = new URL(project.origin);
    const status = await new Promise((resolve, reject) => {
      const sent = httpRequest(
        {
          port,
          host: '127.0.0.1',
          path: '/v1/verify',
          method: 'POST',
          headers: { authorization: `Bearer ${project.secret}`, 'content-length': 1024 ** 3 + 1 },
        },
        response => {
          resolve(response.statusCode);
          sent.destroy();
        },
      );
      sent.on('error', reject);
      sent.flushHeaders();
    });
    expect(status).toBe(413);
  });

  test('of a client that leaves is removed, and a third one at a time is refused', async () => {
    const { port } = new URL(project.origin);
    const open = () => {
      const headers = { authorization: `Bearer ${project.secret}`, 'transfer-encoding': 'chunked' };
      const sent = httpRequest({ port, host: '127.0.0.1', path: '/v1/verify', method: 'POST', headers });
      sent.on('error', () => {});
      sent.write(pack.subarray(0, 1_024));
      return sent;
    };
    const two = [open(), open()];
    await expect.poll(() => uploads().length).toBe(2);
    const third = await project.ask('/v1/verify', { method: 'POST', body: '{}' });
    expect(third.status).toBe(429);
    expect(third.headers.get('retry-after')).toBe('5');
    for (const sent of two) sent.destroy();
    await expect.poll(uploads).toEqual([]);
    await expect.poll(async () => (await project.ask('/v1/verify', { method: 'POST', body: '{}' })).status).toBe(200);
  });

  test('is in the audit log, without its content', async () => {
    const { body } = await project.json('/v1/audit?limit=20');
    const text = JSON.stringify(body);
    expect(text).toContain('verifyUpload');
    expect(text).not.toContain('What about');
  });
});
