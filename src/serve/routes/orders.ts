import * as z from 'zod/mini';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { count, record } from '../../contracts/shape.ts';
import { readRecord } from '../../publish/script-runs.ts';
import { cancelRun } from '../../verbs/cancel-run.ts';
import { lifeOf } from '../../verbs/recover.ts';
import { suiteLife } from '../../verbs/suite-process.ts';
import { idempotencyKey } from '../http/input.ts';
import { type RefusalStatus, madeRun, route } from '../http/route.ts';
import type { Server } from '../http/server.ts';
import { takeForBody } from '../http/uploads.ts';
import { suiteOrderIn, SUITE_ORDER_BYTES_MAX } from '../http/suite-order-body.ts';
import type { OrderView } from '../orders/order-terms.ts';
import { suiteOrderOf, suiteOrderShape } from '../orders/suite-order.ts';
import type { RunPlace } from '../runs/run-index.ts';
import { noSuchRun, runAt, runParams } from './run-at.ts';

export const orderState = record({
  run_id: z.string(),
  state: z.enum(['waiting', 'running', 'ended']),
  position: z.nullable(count()),
  how: z.nullable(z.string()),
  message: z.nullable(z.string()),
});

/** The codes with which `proctor run suite` refuses what a user wrote. */
const SUITE_REFUSALS: Readonly<Record<string, RefusalStatus>> = {
  cases_broken: 422,
  cases_invalid: 422,
  cases_missing: 422,
  no_case: 422,
  no_script: 422,
  no_target: 422,
  no_program: 422,
  no_sandbox: 422,
  not_enforceable: 422,
  out_of_bounds: 422,
  target_invalid: 422,
  too_many_cases: 422,
  not_queueable: 422,
  no_queue: 404,
  no_store: 404,
  run_exists: 409,
  run_known: 409,
  another_server: 409,
  queue_unavailable: 503,
  queue_failed: 503,
};

export const startSuiteRoute = route({
  name: 'startSuite',
  method: 'POST',
  path: '/v1/runs',
  role: 'runner',
  why: 'Orders a suite run. Accepts the same order with the same run id or idempotency-key once.',
  body: {
    upload: ['application/json', 'multipart/form-data'],
    json: suiteOrderShape,
    bytesMax: SUITE_ORDER_BYTES_MAX,
  },
  gives: orderState,
  status: 202,
  refuses: { ...SUITE_REFUSALS, too_many_uploads: 429 },
  made: madeRun,
  act: async (_, { server, who, request }) => {
    const key = idempotencyKey(request) ?? null;
    const free = takeForBody(server.largeBodies, who.id, request);
    try {
      return server.orders.place(suiteOrderOf(await suiteOrderIn(request), who.id, key), who.quotas);
    } finally {
      free();
    }
  },
});

export const cancelRunRoute = route({
  name: 'cancelRun',
  method: 'POST',
  path: '/v1/runs/{run_id}/cancel',
  role: 'runner',
  why: 'Cancels a run, or an order that waits. A suite can be resumed; other runs are sealed.',
  params: runParams,
  gives: orderState,
  refuses: {
    not_cancellable: 409,
    not_started_here: 409,
    odd_journal: 409,
    still_running: 409,
    ambiguous_run: 409,
  },
  act: async ({ params: { run_id: id } }, { server }) => {
    const ordered = await server.orders.cancel(id);
    if (ordered) return ordered;
    if (server.scripts.takeBack(id)) return endedRun(id, 'cancelled');
    const sent = await server.scripts.stopSent(id);
    if (sent) return stoppedRun(id, sent, server);
    const place = runToCancel(id, server);
    if (!place) return unstartedRun(id, server);
    const became = await cancelRun(place);
    return endedRun(id, became === 'cancelled' ? 'cancelled' : 'finished');
  },
});

const endedRun = (id: string, how: string, message: string | null = null): OrderView => ({
  run_id: id,
  state: 'ended',
  position: null,
  how,
  message,
});

/** A run of a published script that workers could make. It may have ended before it could be stopped. */
function stoppedRun(id: string, sent: 'ended' | 'stopping', server: Server): OrderView {
  if (sent === 'stopping')
    return { run_id: id, state: 'running', position: null, how: null, message: 'The queue does not answer yet.' };
  return readRecord(server.home, id)?.refused ? unstartedRun(id, server) : endedRun(id, 'finished');
}

/** A terminal may have started the run. If both sides have a run with this id, the one that is running. */
function runToCancel(id: string, { runs }: Server): RunPlace | undefined {
  const places = runs.findAll(id);
  const running = places.filter(place => lifeOf(place) === 'alive');
  if (running.length > 1) {
    const names = running.map(({ lane }) => `${lane}/${id}`).join(' and ');
    throw new Fault('ambiguous_run', `${names} are running. Stop one of them with proctor cancel.`);
  }
  return running[0] ?? places[0];
}

/** An order that ended before its run had a folder. */
function unstartedRun(id: string, { orders, home }: Server): OrderView {
  const known = orders.find(id);
  if (known) return known;
  const refused = readRecord(home, id)?.refused;
  if (!refused) throw noSuchRun(id);
  return endedRun(id, refused.code === 'cancelled' ? 'cancelled' : 'failed', refused.message);
}

export const resumeRunRoute = route({
  name: 'resumeRun',
  method: 'POST',
  path: '/v1/runs/{run_id}/resume',
  role: 'runner',
  why: 'Resumes an interrupted suite, or judges one whose process died before it had judged the answers.',
  params: runParams,
  gives: orderState,
  status: 202,
  refuses: { not_resumable: 409, another_server: 409, run_exists: 409 },
  act: ({ params }, { server, who }) => {
    const known = server.orders.find(params.run_id);
    if (known && known.state !== 'ended') return known;
    const place = runAt(params.run_id, server);
    const { lane } = place;
    if (lane !== 'baseline' && lane !== 'new') throw new Fault('not_resumable', 'Only a suite can be resumed.');
    const { life, isUnjudged } = suiteLife(place);
    const why = NOT_RESUMABLE[life];
    if (why !== undefined && !isUnjudged) throw new Fault('not_resumable', why);
    const at = instantText(systemClock.now());
    const input = { lane, suite: null };
    return server.orders.again(place.id, who, {
      is: 'ordered',
      at,
      kind: 'suite',
      by: who.id,
      key: null,
      digest: null,
      input,
    });
  },
});

const NOT_RESUMABLE: Readonly<Record<string, string>> = {
  finished: 'The run is finished. There is nothing to resume.',
  alive: 'The run is still running.',
  foreign: 'The run was not started by this user on this machine. Resume it with proctor run suite --resume.',
  unknown: "Proctor cannot read the run's journal.",
  gone: 'The run folder was removed.',
};
