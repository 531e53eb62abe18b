import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SmallPage } from '../../../src/reports/pages/page-kinds.ts';
import { HISTORY_ROUTES } from '../../../src/serve/routes/history.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { HistoryWorld } from '../../verbs/history/world.ts';

const SUITE = 'cases/basics.yaml';

let place: Place;
let world: HistoryWorld;
let project: ServedProject;

beforeAll(async () => {
  place = new Place();
  world = new HistoryWorld(place.cwd);
  await world.add({ run: { cases_path: SUITE }, cases: { hours: 'p', refund: 'p' } });
  await world.add({ run: { cases_path: SUITE }, cases: { hours: 'p', refund: 'f' } });
  await world.add({ suite: 'other', cases: { one: 'p' } });
  project = await servedUntilStopped(place.cwd);
});

afterAll(async () => {
  await project.stop();
  place.remove();
});

async function historyAt(path: string): Promise<SmallPage<'history'>> {
  const { status, body } = await project.json(path);
  expect(status).toBe(200);
  for (const route of HISTORY_ROUTES) expect(misfits(route, body)).toEqual([]);
  expect(JSON.stringify(body)).not.toContain(place.cwd);
  return body as SmallPage<'history'>;
}

describe('the history', () => {
  test('of all suites has the verdict first, and every suite', async () => {
    const { top, data } = await historyAt('/v1/history');
    expect(top).toMatchObject({ word: 'Failing', tone: 'bad' });
    expect(data.suites.map(({ name }) => name).sort()).toEqual([SUITE, 'other']);
    expect(data.suites.flatMap(({ runs }) => runs.map(({ report }) => report))).toEqual([null, null, null]);
  });

  test('of one suite has its runs and cases', async () => {
    const { data } = await historyAt(`/v1/history/${encodeURIComponent(SUITE)}`);
    expect(data).toMatchObject({ suite: SUITE, case_id: null });
    expect(data.suites[0]?.runs).toHaveLength(2);
    expect(data.suites[0]?.cases[0]).toMatchObject({ case_id: 'refund', state: 'fails' });
  });

  test('of one case says since when it fails', async () => {
    const { top, data } = await historyAt(`/v1/history/${encodeURIComponent(SUITE)}/cases/refund`);
    expect(top.id).toBe('refund');
    expect(data.suites[0]?.cases).toMatchObject([{ trials: ['p', 'f'], since: { run: 1 } }]);
  });

  test('shows a run that is added', async () => {
    const path = '/v1/history/other/cases/one';
    expect((await historyAt(path)).data.suites[0]?.cases[0]?.trials).toEqual(['p']);
    await world.add({ suite: 'other', cases: { one: 'f' } });
    await expect.poll(async () => (await historyAt(path)).data.suites[0]?.cases[0]?.trials).toEqual(['p', 'f']);
  });

  test.each([
    '/v1/history/none',
    '/v1/history/refund',
    '/v1/history/other/cases/none',
    '/v1/history/none/cases/none',
    '/v1/history/..%2f..%2fetc%2fpasswd',
    '/v1/history/a%00b',
    '/v1/history/%E2%80%AEtxt.exe',
  ])('%s is refused without a path', async path => {
    const { status, body } = await project.json(path);
    expect([status, (body as { error: { code: string } }).error.code]).toEqual([404, 'no_history']);
    expect(JSON.stringify(body)).not.toContain(place.cwd);
  });
});
