import { must, rulesFor, should } from '../rule.ts';
import { AGENT_RUN_ASKS, agentRunExample, agentRunFindings } from './agent-run.ts';
import { caseFailureExample } from './case-examples.ts';
import { type CaseArtifact, hrefsIn } from './case-shape.ts';
import { contentFits, eventsOf } from './events.ts';
import { identifiersIn, refFindings } from './evidence-refs.ts';
import { AA, artifactVersion } from './invariants.ts';
import { ARTIFACT_ASKS, pathFault } from './words.ts';

const rule = rulesFor<CaseArtifact>();

export const caseRules = [
  artifactVersion('case.v1'),
  rule({
    ...AA.portablePaths,
    asks: [
      'the payload_asset_href of a tool_result and the snippets_asset_href of a retrieval, if present, are links',
      'in a failure (unless null) or an attempt (if present), full_body_saved_to and full_body_meta_saved_to are links',
      'the id of an asset is a link if it contains a slash or backslash',
      'links are relative paths that start with assets/',
      ...ARTIFACT_ASKS.portablePath,
    ],
    fields: [
      'events[].payload_asset_href',
      'events[].snippets_asset_href',
      'attempts[].full_body_saved_to',
      'attempts[].full_body_meta_saved_to',
    ],
    reads: [
      'events[].type',
      'proposed_actions[].evidence_refs',
      'runner_failure.full_body_saved_to',
      'runner_failure.full_body_meta_saved_to',
    ],
    *check(artifact) {
      for (const { at, href } of hrefsIn(artifact)) {
        const fault = pathFault(href);
        if (fault) yield must(at, `must be a relative path, but ${fault}`);
        else if (!href.startsWith('assets/')) yield must(at, 'must start with assets/');
      }
    },
    breach: () => failedWith({ full_body_saved_to: '/etc/passwd' }),
  }),
  rule({
    ...AA.fullBodies,
    asks: [
      'body_snippet and full_body_saved_to are strings or null, and so is full_body_meta_saved_to if present',
      'full_body_saved_to is not null if body_snippet is not null',
    ],
    fields: [
      'runner_failure.body_snippet',
      'runner_failure.full_body_saved_to',
      'runner_failure.full_body_meta_saved_to',
    ],
    *check({ runner_failure: failure }) {
      if (failure && failure.body_snippet !== null && failure.full_body_saved_to === null) {
        yield must('runner_failure.full_body_saved_to', 'must name the file with the full body');
      }
    },
    breach: () => failedWith({ full_body_saved_to: null }),
  }),
  rule({
    ...AA.errorClasses,
    asks: [
      'runner_failure.class is timeout, http_error, invalid_json, schema_mismatch, network_error or other',
      'the error_class of an attempt, if present, is one of these',
    ],
    fields: ['attempts[].error_class', 'runner_failure.class'],
    breach: () => failedWith({ class: 'dns_error' }),
  }),
  rule({
    ...AA.targetAddress,
    asks: ['runner_failure.url is a URL', ...ARTIFACT_ASKS.targetUrl],
    fields: ['runner_failure.url'],
    breach: () => failedWith({ url: 'https://qa:secret@agent.example.com/v2/run-case' }),
  }),
  rule({
    ...AA.caseNamed,
    asks: [
      'case_id is a case id',
      ...ARTIFACT_ASKS.caseId,
      'version is baseline or new',
      'workflow_id, if present, is a string',
      'agent_fields, if present, is an object with the parts of the answer that the contract does not define',
    ],
    fields: ['case_id', 'version', 'workflow_id', 'agent_fields'],
    breach: artifact => ({ ...artifact, case_id: 'evaluation' }),
  }),
  rule({
    ...AA.oneVariant,
    asks: [
      'status is ok or runner_error',
      'proposed_actions, events and final_output are all present if status is ok, and all absent otherwise',
      'runner_failure is present if and only if status is runner_error',
    ],
    fields: ['status'],
    *check(artifact) {
      const { status } = artifact;
      for (const key of VARIANTS) {
        const belongs = (key === 'runner_failure') === (status === 'runner_error');
        const isThere = Object.hasOwn(artifact, key);
        if (belongs && !isThere) yield must(key, `is missing although status is "${status}"`);
        if (!belongs && isThere) yield must(key, `must be absent if status is "${status}"`);
      }
    },
    breach: artifact => ({ ...artifact, runner_failure: caseFailureExample.runner_failure }),
  }),
  rule({
    ...AA.attempts,
    asks: [
      'attempts, if present, is a list',
      'attempt counts from 1 without gaps',
      'started_at is an instant',
      ...ARTIFACT_ASKS.isoTime,
      'latency_ms, if present, is a non-negative number',
      'outcome is ok or runner_error',
      'error_class is present if and only if outcome is runner_error',
      'idempotency_key and run_id, if present, are not empty; note, if present, is a string',
      'http_status, if present, is an integer from 100 to 999',
      'ttft_ms, if present, is a non-negative number, and repairs counts repairs by id',
      'reply_sha256, if present, is the hash of the stored reply',
      'worker, if present, is not empty; outcome_sha256, if present, is the hash of the outcome that the worker signed',
      'runner_failure.attempt is the number of attempts, if attempts is present',
      'should: the outcome of the last attempt equals status',
      'should: the error_class of the last attempt equals runner_failure.class',
    ],
    fields: ['attempts'],
    reads: ['status', 'runner_failure.attempt', 'runner_failure.class'],
    *check({ attempts, status, runner_failure }) {
      if (!attempts) return;
      for (const [index, { attempt, outcome, error_class }] of attempts.entries()) {
        const at = `attempts[${index}]`;
        if (attempt !== index + 1) yield must(`${at}.attempt`, `must be ${index + 1}, but is ${attempt}`);
        if (outcome === 'ok' && error_class !== undefined) {
          yield must(`${at}.error_class`, 'must be absent if outcome is "ok"');
        }
        if (outcome === 'runner_error' && error_class === undefined) {
          yield must(`${at}.error_class`, 'is missing although outcome is "runner_error"');
        }
      }
      if (runner_failure && runner_failure.attempt !== attempts.length) {
        yield must(
          'runner_failure.attempt',
          `must be ${attempts.length}, the number of attempts, but is ${runner_failure.attempt}`,
        );
      }
      const last = attempts.at(-1);
      const at = `attempts[${attempts.length - 1}]`;
      if (last && last.outcome !== status) {
        yield should(`${at}.outcome`, 'should equal status, because it is the last attempt');
      } else if (last?.error_class && runner_failure && last.error_class !== runner_failure.class) {
        yield should(`${at}.error_class`, 'should equal runner_failure.class, because it is the last attempt');
      }
    },
    breach: ({ attempts = [], ...artifact }) => ({ ...artifact, attempts: attempts.slice(1) }),
  }),
  rule({
    ...AA.finalOutput,
    asks: [
      'final_output has content_type and content',
      'content_type is text or json',
      'content is a string if content_type is text, and an object if it is json',
      'output_hash, if present, is a string',
      'redactions_applied, if present, is a list of strings',
    ],
    fields: ['final_output'],
    *check({ final_output }) {
      if (final_output) yield* contentFits(final_output, 'final_output');
    },
    breach: artifact => ({ ...artifact, final_output: { ...artifact.final_output, content_type: 'json' } }),
  }),
  rule({
    ...AA.proposedActions,
    asks: [
      'proposed_actions is a list',
      'action_id, action_type and tool_name are not empty',
      'params is an object',
      'risk_level is high, medium, low or unknown',
      'risk_tags is a list of strings',
    ],
    fields: ['proposed_actions'],
    breach: withFirstAction({ risk_level: 'severe' }),
  }),
  rule({
    ...AA.evidenceRefs,
    asks: [
      'evidence_refs is a list',
      'kind is tool_result, retrieval_doc, event or asset',
      'a tool_result has call_id, a retrieval_doc has doc_id, and an event or asset has id; none has a key of another kind',
      'call_id, doc_id and id are not empty',
      'call_id matches a tool_call or tool_result event',
      'doc_id is among the doc_ids of a retrieval event',
      'for kind event, id is the id of an event, or its index, such as events[0]',
    ],
    fields: ['proposed_actions[].evidence_refs'],
    reads: ['events[].type', 'events[].call_id', 'events[].doc_ids', 'events[].id'],
    *check({ proposed_actions = [], events = [] }) {
      // Most cases have no evidence, so skip collecting identifiers.
      if (!proposed_actions.some(({ evidence_refs }) => evidence_refs.length > 0)) return;
      const known = identifiersIn(events);
      for (const [action, { evidence_refs }] of proposed_actions.entries()) {
        for (const [index, ref] of evidence_refs.entries()) {
          yield* refFindings(ref, `proposed_actions[${action}].evidence_refs[${index}]`, known);
        }
      }
    },
    breach: withFirstAction({ evidence_refs: [{ kind: 'tool_result', call_id: 'call_99' }] }),
  }),
  rule({
    ...AA.events,
    asks: [
      'events is a list; each entry has type (a string) and ts (a number)',
      'types other than those below are allowed, and may have any further keys',
      'tool_call has call_id and tool (both not empty) and args (an object)',
      'tool_call may have action_id (not empty), risk_level (as in AA14) and risk_tags (a list of strings)',
      'tool_result has call_id (not empty), status (ok or error) and latency_ms (a non-negative number)',
      'tool_result may have action_id (not empty) and payload_summary (a string or an object)',
      'retrieval has query (a string) and doc_ids (a list of non-empty strings)',
      'retrieval may have snippets_hashes, a list of strings',
      'final_output has content_type and content, as in AA13',
      'the id of an event of these four types, if present, is not empty',
      'should: the call_id of a tool_result matches a tool_call',
    ],
    fields: ['events'],
    *check({ events = [] }) {
      const called = new Set(eventsOf('tool_call', events).map(([, { call_id }]) => call_id));
      for (const [index, { call_id }] of eventsOf('tool_result', events)) {
        if (!called.has(call_id)) yield should(`events[${index}].call_id`, 'matches no tool_call');
      }
      for (const [index, output] of eventsOf('final_output', events)) yield* contentFits(output, `events[${index}]`);
    },
    breach: ({ events = [], ...artifact }) => ({
      ...artifact,
      events: [{ ...events[0], ts: 'noon' }, ...events.slice(1)],
    }),
  }),
  rule({
    ...AA.runnerFailure,
    asks: [
      'runner_failure has class, url, attempt, body_snippet and full_body_saved_to',
      'attempt is a non-negative integer',
      'timeout_ms and latency_ms, if present, are non-negative numbers',
      'status, if present, is an integer from 100 to 999',
      'status_text, error_name and error_message, if present, are strings',
      'status is present if class is http_error',
      'should: timeout_ms is present if class is timeout',
    ],
    fields: ['runner_failure'],
    *check({ runner_failure: failure }) {
      if (failure?.class === 'http_error' && failure.status === undefined) {
        yield must('runner_failure.status', 'is missing although class is "http_error"');
      }
      if (failure?.class === 'timeout' && failure.timeout_ms === undefined) {
        yield should('runner_failure.timeout_ms', 'is missing although class is "timeout"');
      }
    },
    breach: () => failedWith({ status: '503' }),
  }),
  rule({
    ...AA.assetDigests,
    asks: ['the payload_asset_sha256 of a tool_result, if present, is a digest', ...ARTIFACT_ASKS.digest],
    fields: ['events[].payload_asset_sha256'],
    breach: ({ events = [], ...artifact }) => ({
      ...artifact,
      events: events.map(event =>
        event.type === 'tool_result' ? { ...event, payload_asset_sha256: 'abc123' } : event,
      ),
    }),
  }),
  rule({
    ...AA.agentRun,
    asks: AGENT_RUN_ASKS,
    fields: ['agent_run'],
    reads: ['attempts'],
    *check({ agent_run, attempts = [] }) {
      if (agent_run) yield* agentRunFindings(agent_run, attempts.at(-1)?.run_id);
    },
    breach: artifact => ({ ...artifact, agent_run: { ...agentRunExample, reason: 'stalled' } }),
  }),
];

/** The keys of a response, which a failure never has. */
const RESPONSE = ['proposed_actions', 'events', 'final_output'] as const satisfies readonly (keyof CaseArtifact)[];

const VARIANTS = [...RESPONSE, 'runner_failure'] as const;

function failedWith(change: object) {
  return { ...caseFailureExample, runner_failure: { ...caseFailureExample.runner_failure, ...change } };
}

function withFirstAction(change: object) {
  return ({ proposed_actions: [first, ...rest] = [], ...artifact }: CaseArtifact) => ({
    ...artifact,
    proposed_actions: [{ ...first, ...change }, ...rest],
  });
}
