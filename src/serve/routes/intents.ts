import * as z from 'zod/mini';
import { anyObject, record } from '../../contracts/shape.ts';
import { answeredIntent, openQuestions } from '../../verbs/answer-intent.ts';
import { idempotencyKey } from '../http/input.ts';
import { type RefusalStatus, madeRun, route } from '../http/route.ts';
import { intentOrderOf, intentOrderShape, remoteIntentOf } from '../orders/intent-order.ts';
import { orderState } from './orders.ts';
import { runAt, runParams } from './run-at.ts';

/** The codes with which `proctor run intent` refuses what a user wrote. */
const INTENT_REFUSALS: Readonly<Record<string, RefusalStatus>> = {
  intent_invalid: 422,
  intent_syntax: 422,
  intent_unreadable: 422,
  bad_profile: 422,
  run_exists: 409,
  another_server: 409,
};

const startIntentRoute = route({
  name: 'startIntent',
  method: 'POST',
  path: '/v1/intents',
  role: 'runner',
  why: 'Orders an intent run. Accepts the same order with the same idempotency-key once.',
  body: intentOrderShape,
  // JSON may double the length of a text.
  bodyBytesMax: 2 * 16 * 1024 ** 2 + 1024 ** 2,
  gives: orderState,
  status: 202,
  refuses: INTENT_REFUSALS,
  made: madeRun,
  act: ({ body }, { server, who, request }) =>
    server.orders.place(intentOrderOf(remoteIntentOf(body), who.id, idempotencyKey(request) ?? null), who.quotas),
});

const question = record({
  id: z.string(),
  key: z.string(),
  text: z.string(),
  expects: record({
    kind: z.enum(['text', 'command', 'plan', 'choice']),
    choices: z.optional(z.array(z.union([z.string(), z.number(), z.boolean()]))),
  }),
});

const questionsRoute = route({
  name: 'questions',
  method: 'GET',
  path: '/v1/runs/{run_id}/questions',
  role: 'viewer',
  why: 'Lists the open questions of an intent run, and the form of each answer.',
  params: runParams,
  gives: record({ mode: z.enum(['plan-only', 'execute-sandbox']), questions: z.array(question) }),
  refuses: { not_answerable: 409 },
  act: async ({ params }, { server }) => {
    const { questions, source } = await openQuestions(runAt(params.run_id, server));
    return {
      mode: source.mode,
      questions: questions.map(({ id, key, text, expects }) => ({ id, key, text, expects })),
    };
  },
});

const answerRoute = route({
  name: 'answer',
  method: 'POST',
  path: '/v1/runs/{run_id}/answers',
  role: 'runner',
  why: 'Answers questions of an intent run by their ids, and orders a new run with the answers.',
  params: runParams,
  body: record({
    answers: anyObject(),
    /** The mode of the run by default. */
    mode: z.optional(z.enum(['plan-only', 'execute-sandbox'])),
  }),
  gives: orderState,
  status: 202,
  refuses: { ...INTENT_REFUSALS, not_answerable: 409, bad_answers: 422 },
  made: madeRun,
  act: async ({ params, body }, { server, who, request }) => {
    const remote = await answeredIntent(runAt(params.run_id, server), body.answers, body.mode);
    return server.orders.place(intentOrderOf(remote, who.id, idempotencyKey(request) ?? null), who.quotas);
  },
});

export const INTENT_ROUTES = [startIntentRoute, questionsRoute, answerRoute];
