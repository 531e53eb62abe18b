import { describe, expect, test } from 'vitest';
import {
  agentRunExample,
  type CaseArtifact,
  caseArtifact,
  caseFailureExample,
} from '../../src/contracts/artifacts/index.ts';
import { adviceOn, claimsOf, HEX, judged, type Row, testRows } from './artifacts-words.ts';

const exampleCase = caseArtifact.example as CaseArtifact;

const attempt = (change: object) => ({ attempt: 1, started_at: '2026-01-06T12:00:00.000Z', outcome: 'ok', ...change });

const failed = (change: object) => attempt({ outcome: 'runner_error', error_class: 'timeout', ...change });

describe('a case with a response', () => {
  const action = (change: object) => ({ proposed_actions: [{ ...exampleCase.proposed_actions?.[0], ...change }] });
  const refs = (...evidence_refs: unknown[]) => action({ evidence_refs });
  const ref = 'proposed_actions[0].evidence_refs[0]';
  const call = { type: 'tool_call', ts: 1, call_id: 'c', tool: 't', args: {} };
  const result = { type: 'tool_result', ts: 2, call_id: 'c', status: 'ok', latency_ms: 1 };
  const lookup = { type: 'retrieval', ts: 3, query: '', doc_ids: [] };
  const events = (...list: unknown[]) => ({ proposed_actions: [], events: list });
  const rows: Row[] = [
    ['has a case_id', { case_id: undefined }, 'AA10 case_id'],
    ['has a safe case_id', { case_id: '../../escape' }, 'AA10 case_id'],
    ['is of one side', { version: 'old' }, 'AA10 version'],
    ['has no null for a workflow', { workflow_id: null }, 'AA10 workflow_id'],
    ['has a known status', { status: 'passed' }, 'AA11 status'],
    ['has events', { events: undefined, proposed_actions: [] }, 'AA11 events'],
    ['has proposed actions', { proposed_actions: undefined }, 'AA11 proposed_actions'],
    ['has a final output', { final_output: undefined }, 'AA11 final_output'],
    ['has no failure, not even null', { runner_failure: null }, 'AA11 runner_failure', 'AA17 runner_failure'],
    ['counts attempts from 1', { attempts: [attempt({ attempt: 0 })] }, 'AA12 attempts[0].attempt'],
    ['counts attempts without a gap', { attempts: [failed({}), attempt({ attempt: 3 })] }, 'AA12 attempts[1].attempt'],
    [
      'has a class for a failed attempt',
      { attempts: [failed({ error_class: undefined }), attempt({ attempt: 2 })] },
      'AA12 attempts[0].error_class',
    ],
    [
      'has no class for an attempt that went well',
      { attempts: [attempt({ error_class: 'other' })] },
      'AA12 attempts[0].error_class',
    ],
    [
      'has a stable class for a failed attempt',
      { attempts: [failed({ error_class: 'dns' }), attempt({ attempt: 2 })] },
      'AA4 attempts[0].error_class',
    ],
    [
      'has attempts that began at a moment',
      { attempts: [attempt({ started_at: 'today' })] },
      'AA12 attempts[0].started_at',
    ],
    ['may leave out attempts', { attempts: undefined }],
    [
      'has a known content_type',
      { final_output: { content_type: 'html', content: '' } },
      'AA13 final_output.content_type',
    ],
    ['has text that is a string', { final_output: { content_type: 'text', content: {} } }, 'AA13 final_output.content'],
    [
      'has JSON that is an object',
      { final_output: { content_type: 'json', content: '{}' } },
      'AA13 final_output.content',
    ],
    ['has content', { final_output: { content_type: 'text' } }, 'AA13 final_output.content'],
    ['has no list as content', { final_output: { content_type: 'json', content: [] } }, 'AA13 final_output.content'],
    ['may answer with an object', { final_output: { content_type: 'json', content: { ok: true } } }],
    ['has actions that are a list', { proposed_actions: {} }, 'AA14 proposed_actions'],
    ['has actions with params', action({ params: 'all' }), 'AA14 proposed_actions[0].params'],
    ['has actions with risk tags', action({ risk_tags: undefined }), 'AA14 proposed_actions[0].risk_tags'],
    ['has evidence of a known kind', refs({ kind: 'rumour', id: 'x' }), `AA15 ${ref}.kind`],
    ['has a list of evidence', action({ evidence_refs: null }), 'AA15 proposed_actions[0].evidence_refs'],
    ['has evidence with its identifier', refs({ kind: 'tool_result' }), `AA15 ${ref}.call_id`],
    [
      'has evidence with the right identifier',
      refs({ kind: 'retrieval_doc', id: 'policy/refunds' }),
      `AA15 ${ref}.doc_id`,
      `AA15 ${ref}.id`,
    ],
    ['has evidence with one identifier', refs({ kind: 'tool_result', call_id: 'call_1', id: 'x' }), `AA15 ${ref}.id`],
    ['points to calls that were made', refs({ kind: 'tool_result', call_id: 'call_2' }), `AA15 ${ref}.call_id`],
    [
      'points to documents that were found',
      refs({ kind: 'retrieval_doc', doc_id: 'policy/none' }),
      `AA15 ${ref}.doc_id`,
    ],
    ['points to events that exist', refs({ kind: 'event', id: 'events[4]' }), `AA15 ${ref}.id`],
    ['points to events in one spelling', refs({ kind: 'event', id: 'events[03]' }), `AA15 ${ref}.id`],
    ['may point to the last event', refs({ kind: 'event', id: 'events[3]' })],
    ['may point to an event by its own id', { ...refs({ kind: 'event', id: 'e1' }), events: [{ ...call, id: 'e1' }] }],
    [
      'may point to an event of an unknown type',
      { ...refs({ kind: 'event', id: 'e2' }), events: [{ type: 'thought', ts: 1, id: 'e2' }] },
    ],
    ['may point to an asset by its id', refs({ kind: 'asset', id: 'asset_7' })],
    ['points to no asset outside', refs({ kind: 'asset', id: 'assets/../../secret' }), `AA2 ${ref}.id`],
    [
      'has payloads inside the folder',
      events(call, { ...result, payload_asset_href: '/etc/passwd' }),
      'AA2 events[1].payload_asset_href',
    ],
    [
      'has payloads in assets/',
      events(call, { ...result, payload_asset_href: 'payload.json' }),
      'AA2 events[1].payload_asset_href',
    ],
    [
      'has payload links that are text',
      events(call, { ...result, payload_asset_href: null }),
      'AA2 events[1].payload_asset_href',
    ],
    [
      'has snippets in assets/',
      events({ ...lookup, snippets_asset_href: 'https://example.com/x' }),
      'AA2 events[0].snippets_asset_href',
    ],
    ['may have a digest without prefix', events(call, { ...result, payload_asset_sha256: HEX })],
    [
      'has digests of full length',
      events(call, { ...result, payload_asset_sha256: HEX.slice(1) }),
      'AA20 events[1].payload_asset_sha256',
    ],
    ['has calls with arguments', events({ ...call, args: undefined }), 'AA16 events[0].args'],
    [
      'tells all faults of a call',
      events({ ...call, args: [], ts: undefined, tool: 5 }),
      'AA16 events[0].args',
      'AA16 events[0].tool',
      'AA16 events[0].ts',
    ],
    ['tells faults of the second event', events(call, { ...result, status: 'timeout' }), 'AA16 events[1].status'],
    ['has results with a latency', events(call, { ...result, latency_ms: '1 ms' }), 'AA16 events[1].latency_ms'],
    ['has retrievals with documents', events({ ...lookup, doc_ids: 'a' }), 'AA16 events[0].doc_ids'],
    [
      'has output events with content',
      events({ type: 'final_output', ts: 1, content_type: 'text' }),
      'AA16 events[0].content',
    ],
    [
      'has output events that fit their type',
      events({ type: 'final_output', ts: 1, content_type: 'text', content: {} }),
      'AA16 events[0].content',
    ],
    ['has no null among its events', events(null), 'AA16 events[0]'],
    ['has events with a type', events({ ts: 1 }), 'AA16 events[0].type'],
    ['has events with a time, whatever their type', events({ type: 'thought' }), 'AA16 events[0].ts'],
    ['may have events of an unknown type', events({ type: 'tool_call_2', ts: 1, args: 7, deep: { er: [null] } })],
    ['may have no events at all', events()],
  ];
  testRows(caseArtifact, exampleCase, rows);

  test('is advised about a result that no call led to', () => {
    const { violations, advice } = judged(caseArtifact, { ...exampleCase, ...events(result) });
    expect(violations).toEqual([]);
    expect(advice).toEqual([
      { rule_id: 'AA16', path: 'events[0].call_id', message: 'events[0].call_id matches no tool_call.' },
    ]);
  });

  test('is advised about a last attempt that failed although the case did not', () => {
    expect(adviceOn(caseArtifact, { ...exampleCase, attempts: [failed({})] })).toEqual(['AA12 attempts[0].outcome']);
  });

  test('is advised about an unknown key of an event whose type is known', () => {
    expect(adviceOn(caseArtifact, { ...exampleCase, ...events({ ...call, mood: 'good' }) })).toEqual([
      'AA16 events[0].mood',
    ]);
  });

  test('claims every file that it links to, with its digest in one form', () => {
    const bare = { ...result, payload_asset_href: 'assets/p.json', payload_asset_sha256: HEX.toUpperCase() };
    expect(claimsOf(caseArtifact, { ...exampleCase, events: [bare] })).toEqual([
      { at: 'proposed_actions[0].evidence_refs[3].id', file: 'assets/full_payload_refund-small_new.json' },
      { at: 'events[0].payload_asset_href', file: 'assets/p.json', sha256: `sha256:${HEX}` },
    ]);
    expect(claimsOf(caseArtifact, exampleCase).map(({ at }) => at)).toContain('events[0].snippets_asset_href');
  });
});

describe('a case with a failure', () => {
  const failure = (change: object) => ({ runner_failure: { ...caseFailureExample.runner_failure, ...change } });
  const bodiless = { body_snippet: null, full_body_saved_to: null, full_body_meta_saved_to: null };
  const saved = 'runner_failure.full_body_saved_to';
  const rows: Row[] = [
    ['has a failure', { runner_failure: undefined }, 'AA11 runner_failure'],
    ['has no response beside it', { final_output: { content_type: 'text', content: '' } }, 'AA11 final_output'],
    ['has no empty list of events', { events: [] }, 'AA11 events'],
    ['tells that it is of two kinds even if one is malformed', { events: 5 }, 'AA11 events', 'AA16 events'],
    ['has a body in assets/', failure({ full_body_saved_to: 'bodies/1.html' }), `AA2 ${saved}`],
    [
      'has metadata in assets/',
      failure({ full_body_meta_saved_to: '..\\1.json' }),
      'AA2 runner_failure.full_body_meta_saved_to',
    ],
    ['has a body if it has a snippet', failure({ full_body_saved_to: null }), `AA3 ${saved}`],
    ['has a body if it has an empty snippet', failure({ body_snippet: '', full_body_saved_to: null }), `AA3 ${saved}`],
    ['says null where there is no body', failure({ ...bodiless, full_body_saved_to: undefined }), `AA3 ${saved}`],
    ['says null where there is no snippet', failure({ body_snippet: undefined }), 'AA3 runner_failure.body_snippet'],
    ['may say nothing of metadata', failure({ full_body_meta_saved_to: undefined })],
    ['may have no body', failure(bodiless)],
    ['may have a body without a snippet', failure({ body_snippet: null })],
    ['has a class', failure({ class: undefined }), 'AA4 runner_failure.class'],
    ['has a class that is spelt right', failure({ class: 'Timeout' }), 'AA4 runner_failure.class'],
    ['has a url', failure({ url: undefined }), 'AA6 runner_failure.url'],
    ['has a url without credentials', failure({ url: 'http://:pw@localhost/run-case' }), 'AA6 runner_failure.url'],
    ['has the number of its last attempt', failure({ attempt: 1 }), 'AA12 runner_failure.attempt'],
    ['may count attempts without listing them', { ...failure({ attempt: 5 }), attempts: undefined }],
    ['may have been given up before the first attempt', { ...failure({ attempt: 0 }), attempts: [] }],
    ['has a status if it is an http_error', failure({ status: undefined }), 'AA17 runner_failure.status'],
    ['has a status of three digits', failure({ status: 0 }), 'AA17 runner_failure.status'],
    ['has an attempt', { ...failure({ attempt: undefined }), attempts: undefined }, 'AA17 runner_failure.attempt'],
    ['has no null for a latency', failure({ latency_ms: null }), 'AA17 runner_failure.latency_ms'],
    ['has an error_message that is text', failure({ error_message: {} }), 'AA17 runner_failure.error_message'],
  ];
  testRows(caseArtifact, caseFailureExample, rows);

  test('is advised about a timeout that does not say how long', () => {
    const timeout = { ...failure({ class: 'timeout', timeout_ms: undefined }), attempts: undefined };
    expect(adviceOn(caseArtifact, { ...caseFailureExample, ...timeout })).toEqual(['AA17 runner_failure.timeout_ms']);
  });

  test('is advised about a class that its last attempt did not have', () => {
    expect(adviceOn(caseArtifact, { ...caseFailureExample, ...failure({ class: 'invalid_json' }) })).toEqual([
      'AA12 attempts[1].error_class',
    ]);
  });

  test('claims its body and the metadata of that', () => {
    expect(claimsOf(caseArtifact, caseFailureExample)).toEqual([
      { at: saved, file: 'assets/full_body_refund-large_new.html' },
      { at: 'runner_failure.full_body_meta_saved_to', file: 'assets/full_body_refund-large_new.meta.json' },
    ]);
  });
});

describe('a case that an agent worked on', () => {
  const run = (change: object) => ({ agent_run: { ...agentRunExample, ...change } });
  const files = (total: number, listed: readonly object[]) =>
    run({ changes: { ...agentRunExample.changes, files: { total, listed } } });
  const file = { path: 'a', change: 'add', added: 1, removed: 0 };
  const hard = { class: 'forbidden_path', path: 'a', hard: true };
  const at = (place: string): string => `AA21 agent_run.${place}`;
  const rows: Row[] = [
    ['says what came of its run', run({})],
    ['may say that nobody could look at the tree', run({ changes: null })],
    ['may have lines that nobody counted', files(1, [{ ...file, added: null, removed: null }])],
    ['has a run', { agent_run: null }, 'AA21 agent_run'],
    ['has a seal to hold its run by', run({ seal_sha256: 'abc' }), at('seal_sha256')],
    ['ended in a way that there is', run({ termination: 'killed' }), at('termination')],
    ['ended for a reason that fits', run({ reason: 'stalled' }), at('reason')],
    [
      'has violations of known classes',
      run({ violations: { total: 1, listed: [{ class: 'x', hard: false }] } }),
      at('violations.listed[0].class'),
    ],
    ['did not complete with a hard one', run({ violations: { total: 1, listed: [hard] } }), at('violations')],
    ['lists its violations', run({ violations: { total: 2, listed: [] } }), at('violations.listed')],
    ['has no flag twice', run({ flags: [...agentRunExample.flags, ...agentRunExample.flags] }), at('flags[1].flag')],
    ['has flags that say something', run({ flags: [{ flag: 'needs_review', message: ' ' }] }), at('flags[0].message')],
    ['lists its files', files(3, [file]), at('changes.files.listed')],
    ['has files below its folder', files(1, [{ ...file, path: '../a' }]), at('changes.files.listed[0].path')],
    ['counts lines from 0 up', files(1, [{ ...file, added: -1 }]), at('changes.files.listed[0].added')],
    [
      'is the last attempt',
      { ...run({}), attempts: [attempt({ run_id: 'agent_20260106_120015_000000000000' })] },
      at('run_id'),
    ],
  ];
  testRows(caseArtifact, exampleCase, rows);
});
