import * as z from 'zod/mini';
import { matching, record } from '../../contracts/shape.ts';
import { noRun } from '../../publish/script-runs.ts';
import { scriptRunRow, type ScriptRunView, scriptRunView } from '../../publish/views.ts';
import { downloadArchive, downloadOutput } from '../../verbs/publish/published-downloads.ts';
import { publishedRunView } from '../../verbs/publish/published-view.ts';
import { allows, type ServerRole } from '../access/roles.ts';
import { Content, type RouteContext, route, Streamed } from '../http/route.ts';

const params = record({ run_id: matching(/^script_\d{8}_\d{6}_[0-9a-f]{12}$/, 'the id of a script run') });

/** Users see and stop their own runs. Others need a role. A run that you may not know of does not exist. */
function checkOwn(runId: string, { server, who }: RouteContext, role: ServerRole): void {
  const by = server.scriptRuns.ordererOf(runId);
  if (by === undefined || (by !== who.id && !allows(who.role, role))) throw noRun();
}

const listScriptRunsRoute = route({
  name: 'listScriptRuns',
  method: 'GET',
  path: '/v1/script-runs',
  role: 'user',
  why: 'Lists your runs of published scripts, newest first.',
  query: record({
    after: z.optional(params.shape.run_id),
    limit: z.optional(matching(/^(?:[1-9]\d?|1\d\d|200)$/, 'a number from 1 to 200')),
  }),
  gives: record({ runs: z.array(scriptRunRow), next: z.nullable(z.string()) }),
  act: ({ query: { after, limit = '50' } }, { server, who }) => {
    const isRunning = (runId: string): boolean => server.scripts.live(runId).begunAtMs !== undefined;
    const page = { by: who.id, limit: Number(limit), isRunning };
    const { rows, next } = server.scriptRuns.page(after === undefined ? page : { ...page, after });
    return { runs: rows, next };
  },
});

const showScriptRunRoute = route({
  name: 'showScriptRun',
  method: 'GET',
  path: '/v1/script-runs/{run_id}',
  role: 'user',
  why: 'Shows a run of a published script as its user sees it.',
  params,
  gives: scriptRunView,
  act: (input, asking) => {
    checkOwn(input.params.run_id, asking, 'viewer');
    return viewOf(input.params.run_id, asking.server, allows(asking.who.role, 'viewer'));
  },
});

const viewOf = (runId: string, { cwd, scripts }: RouteContext['server'], isOperator = false): ScriptRunView =>
  publishedRunView(cwd, runId, scripts.live(runId), isOperator);

const scriptRunEventsRoute = route({
  name: 'scriptRunEvents',
  method: 'GET',
  path: '/v1/script-runs/{run_id}/events',
  role: 'user',
  why: 'Sends the same view whenever it changes, until the run has ended.',
  params,
  gives: { media: 'text/event-stream' },
  refuses: { too_many_viewers: 503 },
  act: ({ params: { run_id: runId } }, asking) => {
    checkOwn(runId, asking, 'viewer');
    const { server, who } = asking;
    return new Streamed(to => {
      server.viewers.hold(who.id, to);
      // All viewers of a run share what they see, so it has no note for operators.
      server.scriptLive.follow(runId, to, () => viewOf(runId, server));
    });
  },
});

const downloadScriptFileRoute = route({
  name: 'downloadScriptFile',
  method: 'GET',
  path: '/v1/script-runs/{run_id}/files/{file}',
  role: 'user',
  why: 'Downloads one output file; a slash in its path is written as %2F.',
  params: record({ ...params.shape, file: z.string().check(z.minLength(1), z.maxLength(4_096)) }),
  gives: { media: '*/*' },
  refuses: { no_output: 404, output_gone: 404 },
  act: async (input, asking) => {
    checkOwn(input.params.run_id, asking, 'viewer');
    const { headers, stream } = await downloadOutput(asking.server.cwd, input.params.run_id, input.params.file);
    return new Content(stream, headers);
  },
});

const downloadScriptArchiveRoute = route({
  name: 'downloadScriptArchive',
  method: 'GET',
  path: '/v1/script-runs/{run_id}/archive',
  role: 'user',
  why: 'Downloads all offered output files as one zip.',
  params,
  gives: { media: 'application/zip' },
  refuses: { no_output: 404, output_gone: 404, archive_too_large: 413 },
  act: async (input, asking) => {
    checkOwn(input.params.run_id, asking, 'viewer');
    const { headers, stream } = await downloadArchive(asking.server.cwd, input.params.run_id);
    return new Content(stream, headers);
  },
});

const cancelScriptRunRoute = route({
  name: 'cancelScriptRun',
  method: 'POST',
  path: '/v1/script-runs/{run_id}/cancel',
  role: 'user',
  why: 'Stops your run, or takes back your order.',
  params,
  gives: record({ stopped: z.boolean() }),
  status: 202,
  act: (input, asking) => {
    checkOwn(input.params.run_id, asking, 'runner');
    return { stopped: asking.server.scripts.cancel(input.params.run_id) };
  },
});

/** Runs of published scripts, as their users see them. */
export const SCRIPT_RUN_ROUTES = [
  listScriptRunsRoute,
  showScriptRunRoute,
  scriptRunEventsRoute,
  downloadScriptFileRoute,
  downloadScriptArchiveRoute,
  cancelScriptRunRoute,
];
