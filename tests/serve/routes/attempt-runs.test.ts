import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runEvidenceRoute } from '../../../src/serve/routes/evidence.ts';
import { runPageRoute } from '../../../src/serve/routes/run-page.ts';
import { showRunRoute } from '../../../src/serve/routes/runs.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';

let place: Place;
let project: ServedProject;
let id: string;
let viewer: string;

beforeAll(async () => {
  place = new Place();
  place.file('answer.sh', '#!/bin/sh\necho thinking >&2\necho yes\n', 0o755);
  place.file('cases.json', '[{"id":"a","input":{"user":"a"}}]');
  const ran = place.proctor(['run', 'suite', 'cases.json', '--script', 'answer.sh', '--as', 'new', '--run-id', 's1']);
  const attempts = path.join(place.cwd, '.proctor', 'attempts', 'runs', 'script');
  [id = ''] = readdirSync(attempts);
  expect(id, ran.stderr).not.toBe('');
  project = await servedUntilStopped(place.cwd);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'a viewer', role: 'viewer' });
  viewer = ((await project.json('/v1/tokens', { method: 'POST', headers, body })).body as { token: string }).token;
});

afterAll(async () => {
  await project.stop();
  place.remove();
});

const asViewer = async (what: string) => {
  const { status, body } = await project.json(`/v1/runs/${id}${what}`, {
    headers: { authorization: `Bearer ${viewer}` },
  });
  expect(JSON.stringify(body)).not.toContain(place.cwd);
  return { status, body };
};

test('shows the run that answered an attempt of a suite, its page, its evidence and its files', async () => {
  const shown = await asViewer('');
  expect(shown).toMatchObject({
    status: 200,
    body: { run_id: id, kind: 'script', state: 'finished', is_attempt: true },
  });
  expect(misfits(showRunRoute, shown.body)).toEqual([]);
  const page = await asViewer('/page');
  expect(page).toMatchObject({ status: 200, body: { kind: 'script', top: { id } } });
  expect(misfits(runPageRoute, page.body)).toEqual([]);
  const evidence = await asViewer('/evidence');
  // The ledger has a line for the suite only, so it says nothing about the attempt.
  expect(evidence).toMatchObject({ status: 200, body: { verified: { outcome: 'valid' }, ledger: null } });
  expect(misfits(runEvidenceRoute, evidence.body)).toEqual([]);
  const { files } = (await asViewer('/files')).body as { files: { path: string; state: string }[] };
  const file = files.find(({ state }) => state === 'there')?.path ?? '';
  const folder = path.join(place.cwd, '.proctor', 'attempts', 'runs', 'script', id);
  const sent = await project.ask(`/v1/runs/${id}/files/${encodeURIComponent(file)}`);
  expect(Buffer.from(await sent.arrayBuffer())).toEqual(readFileSync(path.join(folder, file)));
  const pack = await project.ask(`/v1/runs/${id}/pack`);
  expect([pack.status, (await pack.arrayBuffer()).byteLength]).toEqual([200, expect.toSatisfy(bytes => bytes > 1_024)]);
});

test('gives the log of such a run to administrators only', async () => {
  expect(await asViewer('/log')).toMatchObject({ status: 403, body: { error: { code: 'role_too_low' } } });
  const { status, body } = await project.json(`/v1/runs/${id}/log`);
  expect([status, body]).toMatchObject([200, { run_id: id, streams: [{}, { text: 'thinking\n' }] }]);
});

test('neither lists such a run nor cancels it, and a suite is no attempt', async () => {
  const { body } = await project.json('/v1/runs');
  expect(body).toMatchObject({ total: 1, runs: [{ run_id: 's1' }] });
  expect(await project.json('/v1/runs/s1')).toMatchObject({ status: 200, body: { is_attempt: false } });
  expect((await project.json(`/v1/runs/${id}/cancel`, { method: 'POST' })).status).toBe(404);
  expect((await project.json('/v1/runs/script_20260106_120000_0123456789ab')).status).toBe(404);
});
