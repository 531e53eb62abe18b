import * as z from 'zod/mini';
import { anyObject, record } from '../../contracts/shape.ts';
import { Content, route, type Route } from '../http/route.ts';
import { pageTop } from './run-page.ts';

/** A name is compared with the names of suites and cases; it never becomes a path. */
const someName = () => z.string().check(z.minLength(1), z.maxLength(1_000));

const gives = record({ kind: z.literal('history'), top: pageTop, data: anyObject() });

const refuses = { no_history: 404, ambiguous_case: 409 } as const;

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

const historyRoute = route({
  name: 'history',
  method: 'GET',
  path: '/v1/history',
  role: 'viewer',
  why: 'Gives the history of every suite, like proctor history.',
  gives,
  act: async (_, { server }) => new Content(await server.history.page(), JSON_TYPE),
});

const suiteHistoryRoute = route({
  name: 'suiteHistory',
  method: 'GET',
  path: '/v1/history/{suite}',
  role: 'viewer',
  why: 'Gives the history of one suite; a slash in its name is written as %2F.',
  params: record({ suite: someName() }),
  gives,
  refuses,
  act: async ({ params }, { server }) => new Content(await server.history.page(params.suite), JSON_TYPE),
});

const caseHistoryRoute = route({
  name: 'caseHistory',
  method: 'GET',
  path: '/v1/history/{suite}/cases/{case_id}',
  role: 'viewer',
  why: 'Gives the history of one case.',
  params: record({ suite: someName(), case_id: someName() }),
  gives,
  refuses,
  act: async ({ params: { suite, case_id: id } }, { server }) =>
    new Content(await server.history.page(suite, id), JSON_TYPE),
});

/** The histories of suites and cases. */
export const HISTORY_ROUTES: readonly Route[] = [historyRoute, suiteHistoryRoute, caseHistoryRoute];
