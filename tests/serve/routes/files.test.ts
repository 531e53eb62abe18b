import { appendFileSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { isExpirableOutput } from '../../../src/contracts/expiry/index.ts';
import { expireFiles } from '../../../src/evidence/run-folder/expired.ts';
import { FILE_ROUTES } from '../../../src/serve/routes/files.ts';
import type { RunFile, RunFilesPage, RunLogView } from '../../../src/verbs/evidence/file-view.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { suiteFolder } from '../../support/suite-world.ts';

let place: Place;
let project: ServedProject;
let folder: string;
let id: string;
/** A run with an internal log. */
let failed: string;
let suite: string;
const CASES = 250;
const SCRIPT = `import proctor_tool
open('output/page.html', 'w').write('<script>')
print('hello')
proctor_tool.succeed()
`;

beforeAll(async () => {
  place = new Place();
  place.file('hello.py', SCRIPT);
  place.proctor(['run', 'script', 'hello.py']);
  [folder = ''] = place.runFolders();
  id = path.basename(folder);
  place.file('fails.sh', 'exit 3\n');
  place.proctor(['run', 'script', 'fails.sh']);
  failed = path.basename(place.runFolders().find(one => one !== folder) ?? '');
  const cases = Array.from({ length: CASES }, (_, index) => ({ id: `case-${String(index).padStart(4, '0')}` }));
  suite = await suiteFolder(path.join(place.cwd, '.proctor', 'runs'), { runId: 'many', cases });
  project = await servedUntilStopped(place.cwd);
});

afterAll(async () => {
  await project.stop();
  place.remove();
});

async function filesOf(run: string, query = ''): Promise<RunFilesPage> {
  const { status, body } = await project.json(`/v1/runs/${run}/files${query}`);
  expect(status).toBe(200);
  expect(misfits(FILE_ROUTES[0] as never, body)).toEqual([]);
  expect(JSON.stringify(body)).not.toContain(place.cwd);
  return body as RunFilesPage;
}

const get = (file: string, run = id): Promise<Response> =>
  project.ask(`/v1/runs/${run}/files/${encodeURIComponent(file)}`);

async function refusal(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect(error.message).not.toContain(place.cwd);
  return `${response.status} ${error.code}`;
}

const stateOf = async (file: string): Promise<RunFile['state'] | undefined> =>
  (await filesOf(id, '?limit=1000')).files.find(one => one.path === file)?.state;

describe('the files of a run', () => {
  test('have a digest, a role and a step, and each can be downloaded as it is', async () => {
    const { files, total, next } = await filesOf(id, '?limit=1000');
    expect(files.map(({ path: name }) => name)).toContain('output/page.html');
    expect([total, next]).toEqual([files.length, null]);
    expect(files.find(({ path: name }) => name === 'evidence/steps/script/stdout.txt')).toMatchObject({
      role: 'stream',
      step: 'script',
      is_sealed: true,
      state: 'there',
    });
    for (const { path: name, sha256 } of files.filter(({ state }) => state === 'there')) {
      const response = await get(name);
      expect([name, response.status]).toEqual([name, 200]);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(bytes.equals(readFileSync(path.join(folder, name)))).toBe(true);
      if (sha256 !== null) expect(bytesHash(bytes)).toBe(sha256);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('content-disposition')).toMatch(/^attachment; /);
      expect(response.headers.get('content-type')).not.toMatch(/html|javascript|svg/);
    }
  });

  test('with a misleading name that was planted are listed as they are, and not given', async () => {
    const name = 'output/a\u202etxt.exe';
    writeFileSync(path.join(folder, name), 'planted');
    await expect.poll(() => stateOf(name)).toBe('not_sealed');
    expect(await refusal(await get(name))).toBe('409 not_as_sealed');
    rmSync(path.join(folder, name));
  });

  test('are paged', async () => {
    const seen: string[] = [];
    let after = '';
    for (let pages = 0; pages < 10; pages++) {
      const { files, total, next } = await filesOf('many', `?role=case&limit=60${after}`);
      expect(total).toBe(CASES);
      seen.push(...files.map(({ path: name }) => name));
      if (next === null) break;
      after = `&after=${encodeURIComponent(next)}`;
    }
    expect(new Set(seen).size).toBe(CASES);
  });

  test('that are internal are listed, and never given', async () => {
    const { files } = await filesOf(failed, '?role=internal');
    expect(files).toMatchObject([{ path: 'evidence/internal/log.ndjson', state: 'internal' }]);
    expect(await refusal(await get('evidence/internal/log.ndjson', failed))).toBe('404 no_file');
  });

  test.each([
    '../many/run.json',
    'evidence/../evidence/seal.json',
    './result.json',
    '/etc/passwd',
    'evidence',
    'evidence/',
    'a\0b',
    'evidence\\seal.json',
    'EVIDENCE/SEAL.JSON',
    '%2e%2e%2fresult.json',
    '\u202e',
    'x'.repeat(4_096),
  ])('do not include %j', async file => {
    expect(await refusal(await get(file))).toBe('404 no_file');
  });

  test('that are links are listed as what they are, and never followed', async () => {
    const link = path.join(folder, 'output', 'link');
    symlinkSync('/etc/passwd', link);
    await expect.poll(() => stateOf('output/link')).toBe('no_file');
    expect(await refusal(await get('output/link'))).toBe('404 no_file');
    rmSync(link);
  });

  test('that replace a sealed file by a link are refused', async () => {
    const file = path.join(folder, 'evidence/steps/script/stdout.txt');
    const bytes = readFileSync(file);
    rmSync(file);
    symlinkSync('/etc/passwd', file);
    expect(await refusal(await get('evidence/steps/script/stdout.txt'))).toBe('404 file_missing');
    rmSync(file);
    writeFileSync(file, bytes);
    await expect.poll(async () => (await get('evidence/steps/script/stdout.txt')).status).toBe(200);
  });

  test('that changed or were added are refused', async () => {
    const file = path.join(folder, 'evidence/steps/script/stdout.txt');
    writeFileSync(file, 'HELLO\n');
    expect(await refusal(await get('evidence/steps/script/stdout.txt'))).toBe('409 not_as_sealed');
    appendFileSync(file, 'more');
    await expect.poll(() => stateOf('evidence/steps/script/stdout.txt')).toBe('changed');
    writeFileSync(file, 'hello\n');
    truncateSync(file, 6);
    writeFileSync(path.join(folder, 'added.txt'), 'added');
    await expect.poll(() => stateOf('added.txt')).toBe('not_sealed');
    expect(await refusal(await get('added.txt'))).toBe('409 not_as_sealed');
    rmSync(path.join(folder, 'added.txt'));
  });

  test('that expired are gone, by name', async () => {
    expireFiles(folder, { isWanted: isExpirableOutput, nowMs: Date.parse('2026-11-18T12:00:00Z'), signer: undefined });
    await expect.poll(() => stateOf('output/page.html')).toBe('expired');
    expect(await refusal(await get('output/page.html'))).toBe('410 file_expired');
  });

  test('of a run without a seal are refused', async () => {
    rmSync(path.join(suite, 'evidence/seal.json'));
    await expect.poll(async () => refusal(await project.ask('/v1/runs/many/files'))).toBe('409 not_sealed');
  });
});

describe('the log of a run', () => {
  test('has its printed output, and is found by the correlation id', async () => {
    const { correlation_id: correlation } = JSON.parse(
      readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8'),
    ) as { correlation_id: string };
    for (const at of [`/v1/runs/${id}/log`, `/v1/logs/${correlation}`]) {
      const { status, body } = await project.json(at);
      expect([at, status]).toEqual([at, 200]);
      expect(misfits(FILE_ROUTES[2] as never, body)).toEqual([]);
      const log = body as RunLogView;
      expect(log).toMatchObject({
        run_id: id,
        correlation_id: correlation,
        streams: [{ name: 'stdout', text: 'hello\n' }, { name: 'stderr' }],
      });
    }
  });

  test('has the internal entries', async () => {
    const { body } = await project.json(`/v1/runs/${failed}/log`);
    expect((body as RunLogView).entries_total).toBeGreaterThan(0);
  });

  test('is not there for another correlation id', async () => {
    expect(await refusal(await project.ask('/v1/logs/000000000000'))).toBe('404 no_log');
    expect(await refusal(await project.ask('/v1/logs/..%2f..'))).toBe('422 invalid_input');
  });
});
