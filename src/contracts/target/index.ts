import { type Contract, MIB } from '../contract.ts';
import { NO_UNKNOWN_KEYS, type Rule } from '../rule.ts';
import { type CredentialKeys, credentialFindings, endingFindings, waitFindings } from './checks.ts';
import { declarationShape, type TargetDeclaration } from './declaration.ts';

export {
  declarationShape,
  type DeclarationOf,
  type DeclaredKind,
  type TargetDeclaration,
} from './declaration.ts';
export type { TargetPoll, TargetPrice, TargetRequest, TargetStart } from './keys.ts';
export { declarationFindings } from './checks.ts';

const rules: readonly Rule[] = [
  {
    id: 'TG1',
    title: 'Target Known',
    why: 'A misspelled key would have no effect, so Proctor would ask or read something else.',
    asks: [
      'schema_version, if present, is "target.v1"',
      'kind is one of the kinds in docs/targets.md, and every key belongs to that kind',
      NO_UNKNOWN_KEYS,
    ],
    fields: ['schema_version', 'kind', 'name'],
    breach: (target: TargetDeclaration) => ({ ...target, schema_version: 'target.v9' }),
  },
  {
    id: 'TG2',
    title: 'Request Declared',
    why: 'The request is a tree with placeholders, so no case can change its form.',
    asks: [
      'url, model, assistant, tool, module and run are present if the kind requires them, and not empty',
      'request has method, path, query and body, each optional; run is a list of words, never a shell line',
      'module is a .js, .mjs or .cjs file; sandbox is process or none; network is allow or block',
      'headers, query and env map names to texts; auth has bearer',
      'credentials in headers, query, parameters and env are placeholders such as ${env:NAME}, never written out',
      'no other string, such as in path or body, looks like a well-known credential',
    ],
    fields: [
      'url',
      'headers',
      'auth',
      'request',
      'session',
      'reset',
      'model',
      'system',
      'parameters',
      'assistant',
      'input',
      'protocol',
      'state',
      'run',
      'env',
      'tool',
      'arguments',
      'send',
      'module',
      'export',
      'sandbox',
      'network',
    ],
    check: (declaration: CredentialKeys) => credentialFindings(declaration),
    reads: ['start', 'poll', 'version', 'reply'],
    breach: (target: TargetDeclaration) => ({ ...target, auth: { bearer: 'a literal token' } }),
  },
  {
    id: 'TG3',
    title: 'Reply Mapped',
    why: 'The mapping is data, so anyone can repeat it on the stored reply.',
    asks: [
      'reply has final_output, and may have events, proposed_actions, workflow_id, usage, failed, session and model',
      'stream, until, poll, output and first_output say where a reply begins and ends',
      'until.in lists at least one value; poll and stream are not both present; poll.every is at most 60m',
      'a path is $ or @ followed by .name, ["name"], [0], [-1], [*] and [?filter]',
    ],
    fields: ['reply', 'stream', 'until', 'poll', 'output', 'first_output', 'price'],
    check: endingFindings,
    breach: (target: TargetDeclaration) => ({ ...target, reply: {} }),
  },
  {
    id: 'TG4',
    title: 'Limits And Start Declared',
    why: 'Every wait has a limit, and comparisons need to know which agent answered.',
    asks: [
      'timeout and idle_timeout are times such as 500ms, 30s or 10m; no wait is longer than 60m',
      'retries is an integer, at least 0; concurrency is an integer, at least 1; replies is strict or lenient',
      'start has run, and may have cwd, env, ready, stop and reuse; version has run, or path and read',
      'provenance has model, prompt_version, parameters and the like, one line each',
    ],
    fields: ['timeout', 'idle_timeout', 'retries', 'concurrency', 'replies', 'version', 'provenance', 'start'],
    check: waitFindings,
    breach: (target: TargetDeclaration) => ({ ...target, timeout: 'soon' }),
  },
];

export const target: Contract = {
  name: 'target',
  title: 'Target',
  tells: 'How a suite asks an agent or an API, and how it reads the reply.',
  source: 'Proctor, run suite',
  version: { field: 'schema_version', value: 'target.v1' },
  shape: declarationShape,
  rules,
  unknownKeys: 'TG1',
  programText: ['run', 'start', 'version', 'request', 'headers'],
  beyond: ['whether the target exists', 'whether the mapping fits its replies'],
  bytesMax: MIB,
  example: {
    schema_version: 'target.v1',
    kind: 'http',
    url: 'https://desk.example.com',
    auth: { bearer: '${env:DESK_TOKEN}' },
    request: { path: '/api/chat', body: { message: '${input.user}', conversation: '${session.id}' } },
    reply: {
      final_output: '$.answer.text',
      events: [{ as: 'tool_call', each: '$.trace[*]', call_id: '@.id', tool: '@.name', args: '@.input' }],
      usage: { total_tokens: '$.usage.tokens' },
    },
    timeout: '60s',
  } satisfies TargetDeclaration,
};
