import { Fault } from '../../base/fault.ts';
import { record } from '../../contracts/shape.ts';
import { jsonContent, type Route, route } from '../http/route.ts';
import type { Server } from '../http/server.ts';
import type { ReportPlace } from '../runs/run-data.ts';
import {
  caseAnswer,
  caseIdText,
  caseListAnswer,
  caseListQuery,
  caseQueryOf,
  REPORT_REFUSALS,
  reportAnswer,
} from './case-shapes.ts';
import { runAt, runId, runParams } from './run-at.ts';

const runReportRoute = route({
  name: 'runReport',
  method: 'GET',
  path: '/v1/runs/{run_id}/report',
  role: 'viewer',
  why: 'Gives the verdict on a suite run and its overview; for a running suite, what is known so far.',
  params: runParams,
  gives: reportAnswer,
  refuses: REPORT_REFUSALS,
  act: async ({ params }, { server }) => jsonContent(await server.data.report(suiteAt(params.run_id, server))),
});

const runCasesRoute = route({
  name: 'runCases',
  method: 'GET',
  path: '/v1/runs/{run_id}/cases',
  role: 'viewer',
  why: 'Lists the cases of a suite run, failures first. A running suite lists finished cases and those under way.',
  params: runParams,
  query: caseListQuery,
  gives: caseListAnswer,
  refuses: REPORT_REFUSALS,
  act: async ({ params, query }, { server }) =>
    jsonContent(await server.data.cases(suiteAt(params.run_id, server), caseQueryOf(query))),
});

const runCaseRoute = route({
  name: 'runCase',
  method: 'GET',
  path: '/v1/runs/{run_id}/cases/{case_id}',
  role: 'viewer',
  why: 'Gives a case of a suite run with its question, answer, events, verdict, assets and attempts. Long texts are cut.',
  params: record({ run_id: runId(), case_id: caseIdText() }),
  gives: caseAnswer,
  refuses: REPORT_REFUSALS,
  act: async ({ params }, { server }) =>
    jsonContent(await server.data.case(suiteAt(params.run_id, server), params.case_id)),
});

/** The reports on suite runs. */
export const RUN_REPORT_ROUTES: readonly Route[] = [runReportRoute, runCasesRoute, runCaseRoute];

/** The suite run with exactly this id. */
export function suiteAt(id: string, server: Pick<Server, 'runs'>): ReportPlace {
  const { lane, folder } = runAt(id, server);
  if (lane === 'baseline' || lane === 'new') return { of: 'run', folder };
  throw new Fault('no_report', 'Only the run of a suite has a report. Ask for the page of this run.');
}
