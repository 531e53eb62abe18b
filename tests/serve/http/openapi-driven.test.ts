import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MemoryQueue } from '../../../src/queue/memory.ts';
import { WORKER_ROUTES } from '../../../src/serve/routes/workers.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { publishScript } from '../../../src/verbs/publish/publish.ts';
import { Place } from '../../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { suiteFolder } from '../../support/suite-world.ts';

/*
 * A client that knows only the OpenAPI document and the names of things that exist. It asks every operation, and holds
 * each answer against what the document says about it.
 */

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: object }>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema?: object }>> }>>;
}

interface Asked extends Operation {
  readonly method: string;
  readonly path: string;
}

const BASELINE = 'suite_20260106_110000_000000000001';
const CANDIDATE = 'suite_20260106_120000_000000000002';

const world = new Place();
let project: ServedProject;
let operations: readonly Asked[];
let document: { readonly paths: Record<string, Record<string, Operation>>; readonly components: object };
/** Names of things that exist. */
const known: Record<string, string> = {
  run_id: CANDIDATE,
  case_id: 'one',
  suite: 'cases',
  name: 'echo',
  version: '1.0.0',
  file: 'one.json',
  script_file: 'a.txt',
};

beforeAll(async () => {
  const runs = path.join(world.cwd, '.proctor', 'runs');
  mkdirSync(runs, { recursive: true });
  const cases = [{ id: 'one' }, { id: 'two' }];
  await suiteFolder(runs, { version: 'baseline', runId: BASELINE, cases });
  await suiteFolder(runs, { version: 'new', runId: CANDIDATE, cases });
  const script = { schema_version: 'published-script.v1', name: 'echo', version: '1.0.0', title: 'Echo' };
  world.file('tool/script.yaml', JSON.stringify({ ...script, script: 'run.py', inputs: [] }));
  world.file('tool/run.py', "import proctor_tool\nopen('output/a.txt', 'w').write('x')\nproctor_tool.succeed()\n");
  await publishScript('tool', { cwd: world.cwd });
  project = await servedUntilStopped(world.cwd, { team: { queue: new MemoryQueue() } });
  document = (await project.json('/v1/openapi.json')).body as typeof document;
  operations = Object.entries(document.paths).flatMap(([at, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      Object.assign({ method: method.toUpperCase(), path: at }, operation),
    ),
  );
});
afterAll(async () => {
  await project.stop();
  await closeLauncher();
  world.remove();
});

const ajv = new Ajv2020({ strict: false, validateFormats: false });

/** How an answer differs from what the document says; undefined if it does not. */
function differs(operation: Asked, status: number, type: string, text: string): string | undefined {
  const said = operation.responses[String(status)];
  if (!said) return `answers ${status}, which the document does not name: ${text.slice(0, 200)}`;
  if (!said.content) return text === '' ? undefined : `has a body, and the document names none`;
  const media = said.content[type] ?? said.content['*/*'];
  if (!media) return type === '' && text === '' ? undefined : `answers ${status} as ${type}`;
  if (!media.schema) return undefined;
  const isValid = ajv.compile({ ...media.schema, components: document.components });
  return isValid(JSON.parse(text)) ? undefined : `${status}: ${ajv.errorsText(isValid.errors)}`;
}

interface Answered {
  readonly status: number;
  readonly differs: string | undefined;
  readonly text: string;
}

async function ask(operation: Asked, at: string, body?: BodyInit, type?: string): Promise<Answered> {
  const stop = new AbortController();
  const headers = type === undefined ? {} : { 'content-type': type };
  const init = { method: operation.method, headers, signal: stop.signal, ...(body !== undefined && { body }) };
  const response = await project.ask(at, init);
  const media = (response.headers.get('content-type') ?? '').replace(/;.*/, '');
  const isEndless = media === 'text/event-stream';
  const text = isEndless || media === 'application/x-tar' ? '' : await response.text();
  stop.abort();
  return { status: response.status, differs: differs(operation, response.status, media, text), text };
}

/** Runs of published scripts have names and files of their own. */
const filled = (at: string, names: Readonly<Record<string, string>>): string =>
  at.replace(/\{(\w+)\}/g, (_, name: string) => {
    const own = at.startsWith('/v1/script-runs') || at.startsWith('/v1/logs') ? names[`script_${name}`] : undefined;
    return encodeURIComponent(own ?? names[name] ?? 'nothing');
  });

/** Asks all operations, and returns those whose answers differ from the document. */
async function differencesOf(asks: (operation: Asked) => Promise<Answered>): Promise<string[]> {
  const found: string[] = [];
  for (const operation of operations) {
    const { differs: how } = await asks(operation);
    if (how !== undefined) found.push(`${operation.method} ${operation.path} ${how}`);
  }
  return found;
}

/** Asking for a sign-out would end nothing here, because the client uses a token. */
const emptyBody = ({ requestBody }: Asked): [BodyInit, string] | [] =>
  requestBody?.content['application/json'] ? ['{}', 'application/json'] : [];

test('every route answers as its document says if nothing that it names exists', async () => {
  expect(operations.length).toBeGreaterThan(40);
  const nothing = { run_id: 'script_20260101_000000_000000000000', id: 'tok_0000000000000000', version: '9.9.9' };
  expect(await differencesOf(one => ask(one, filled(one.path, nothing), ...emptyBody(one)))).toEqual([]);
});

test('every route refuses a query that its document does not name', async () => {
  const wrong: string[] = [];
  for (const one of operations) {
    const { status, differs: how } = await ask(one, `${filled(one.path, known)}?never=named`, ...emptyBody(one));
    if (how !== undefined || status < 400) wrong.push(`${one.operationId}: ${how ?? status}`);
  }
  expect(wrong).toEqual([]);
});

const file = (name: string, text: string): object => ({ name, text });
const CASES = file('cases.json', '[{"id":"one","input":{"user":"Hello?"}}]');

/** Bodies that fit what exists. */
const BODIES: Readonly<Record<string, object | FormData>> = {
  newToken: { name: 'driven', role: 'viewer' },
  startSuite: { as: 'new', cases: CASES, base_url: 'http://127.0.0.1:9' },
  startIntent: { intent: file('intent.json', '{"goal":"Write <what>","outputs":["out/a.txt"]}') },
  makeComparison: { candidate: CANDIDATE, baseline_run: BASELINE },
  verify: { schema_version: 'none' },
  runPublished: new FormData(),
};

/** Operations with a body of their own kind, or that end what others need. They run in other tests. */
const ELSEWHERE = new Set(['signIn', 'signOut', 'beginLogin', 'finishLogin', 'publishScript', 'answer', 'questions']);
const isForWorkers = ({ operationId }: Asked): boolean => WORKER_ROUTES.some(({ name }) => name === operationId);

/** What this world lacks: an agent's page, a judged suite, and an earlier version. Other tests have them. */
const LACKING = {
  runPage: 'no_page',
  suiteHistory: 'no_history',
  caseHistory: 'no_history',
  rollBackScript: 'no_previous_version',
};

const codeIn = (text: string): string => (JSON.parse(text) as { error: { code: string } }).error.code;

test('every route succeeds as its document says for what exists', async () => {
  const answers = new Map<string, Answered>();
  const fits = operations.filter(one => !ELSEWHERE.has(one.operationId) && !isForWorkers(one));
  const acts = fits.filter(({ operationId }) => operationId in BODIES);
  for (const one of [...acts, ...fits.filter(({ operationId }) => !(operationId in BODIES))]) {
    const sent = BODIES[one.operationId];
    const isForm = sent instanceof FormData;
    const body = sent === undefined || isForm ? sent : JSON.stringify(sent);
    const schema = one.requestBody?.content['application/json']?.schema;
    if (schema && sent && !isForm) expect(ajv.validate(schema, sent), one.operationId).toBe(true);
    const answer = await ask(one, filled(one.path, known), body, isForm || !sent ? undefined : 'application/json');
    answers.set(one.operationId, answer);
    await learn(one.operationId, answer.text);
  }
  expect([...answers].filter(([, { differs: how }]) => how !== undefined)).toEqual([]);
  const refused = [...answers].filter(([, { status }]) => status >= 400);
  expect(Object.fromEntries(refused.map(([name, { text }]) => [name, codeIn(text)]))).toEqual(LACKING);
});

/** Takes over the names of new things. */
async function learn(operationId: string, text: string): Promise<void> {
  if (operationId === 'newToken') known['id'] = (JSON.parse(text) as { created: { id: string } }).created.id;
  if (operationId === 'makeComparison')
    known['comparison_id'] = (JSON.parse(text) as { comparison: { comparison_id: string } }).comparison.comparison_id;
  if (operationId !== 'runPublished') return;
  const { run_id: id } = JSON.parse(text) as { run_id: string };
  const view = async () => (await project.json(`/v1/script-runs/${id}`)).body as Record<string, string>;
  await expect.poll(async () => (await view())['state']).toBe('succeeded');
  known['script_run_id'] = id;
  known['script_correlation_id'] = (await view())['correlation_id'] ?? '';
}
