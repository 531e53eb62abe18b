import { appendFileSync, mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EmbeddedPage } from '../../../src/reports/pages/page-kinds.ts';
import { runPageRoute } from '../../../src/serve/routes/run-page.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { suiteFolder } from '../../support/suite-world.ts';

interface Refused {
  readonly error: { readonly code: string; readonly message: string };
}

let place: Place;
let project: ServedProject;
let scriptId: string;
let scriptFolder: string;

beforeAll(async () => {
  place = new Place();
  place.file('hello.sh', 'echo hello; echo 1 > output/one.txt\n');
  place.proctor(['run', 'script', 'hello.sh']);
  [scriptFolder = ''] = place.runFolders();
  scriptId = path.basename(scriptFolder);
  await suiteFolder(path.join(place.cwd, '.proctor', 'runs'), { runId: 'suite-one', cases: [{ id: 'a' }] });
  project = await servedUntilStopped(place.cwd);
});

afterAll(async () => {
  await project.stop();
  place.remove();
});

async function pageOf(id: string) {
  const { status, body } = await project.json(`/v1/runs/${id}/page`);
  return { status, body: body as EmbeddedPage & Refused };
}

describe('the page of a run', () => {
  test('is what the file of the page contains, in the declared shape', async () => {
    const { status, body } = await pageOf(scriptId);
    expect(status).toBe(200);
    expect(misfits(runPageRoute, body)).toEqual([]);
    expect(body.kind).toBe('script');
    expect(body.top).toMatchObject({ id: scriptId, word: 'Failed' });
    expect(JSON.stringify(body)).not.toContain(place.cwd);
  });

  test('says that a changed run does not verify, although it was read before', async () => {
    const stream = path.join(scriptFolder, 'evidence/steps/script/stdout.txt');
    expect((await pageOf(scriptId)).body.top.word).toBe('Failed');
    appendFileSync(stream, 'more\n');
    await expect.poll(async () => (await pageOf(scriptId)).body.top.word).toBe('Does not verify');
    truncateSync(stream, 'hello\n'.length);
    await expect.poll(async () => (await pageOf(scriptId)).body.top.word).toBe('Failed');
  });

  test('is there while the script runs', async () => {
    place.file('slow.sh', 'echo begun; sleep 60\n');
    const started = place.start(['run', 'script', 'slow.sh']);
    try {
      const running = () => place.runFolders().map(folder => path.basename(folder));
      const known = running();
      await expect.poll(() => running().filter(id => !known.includes(id)).length).toBe(1);
      const id = running().find(one => !known.includes(one)) ?? '';
      await expect.poll(async () => (await pageOf(id)).body.top?.word).toBe('Running');
      started.kill('SIGINT');
      await started.ended;
      await expect.poll(async () => (await pageOf(id)).body.top.word).toBe('Failed');
    } finally {
      started.kill('SIGKILL');
    }
  });

  test('does not exist for a suite', async () => {
    const { status, body } = await pageOf('suite-one');
    expect([status, body.error.code]).toEqual([404, 'no_page']);
  });
});

describe('the id of a run', () => {
  test.each([
    ['latest', 404],
    ['script', 404],
    ['suite-on', 404],
    ['..', 404],
    ['%2e%2e', 404],
    ['..%2fruns', 422],
    ['%2fetc%2fpasswd', 422],
    ['a%00b', 422],
    ['..%5c..', 422],
    ['%ff', 422],
  ])('%s is no run', async (id, status) => {
    const answer = await pageOf(id);
    expect(answer.status).toBe(status);
    expect(answer.body.error.message).not.toContain(place.cwd);
  });

  test('of a link is no run', async () => {
    symlinkSync(scriptFolder, path.join(path.dirname(scriptFolder), 'script_20260101_000000_00000000000b'));
    expect((await pageOf('script_20260101_000000_00000000000b')).status).toBe(404);
  });

  test('of an empty folder gives a page or a refusal, never an internal error', async () => {
    mkdirSync(path.join(path.dirname(scriptFolder), 'script_20260101_000000_00000000000c'));
    await expect.poll(async () => (await pageOf('script_20260101_000000_00000000000c')).status).toBe(409);
  });
});
