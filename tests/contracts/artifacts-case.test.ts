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

describe('the contract for a case with a response', () => {
  const action = (change: object) => ({ proposed_actions: [{ ...exampleCase.proposed_actions?.[0], ...change }] });
  const refs = (...evidence_refs: unknown[]) => action({ evidence_refs });
  const ref = 'proposed_actions[0].evidence_refs[0]';
  const call = { type: 'tool_call', ts: 1, call_id: 'c', tool: 't', args: {} };
  const result = { type: 'tool_result', ts: 2, call_id: 'c', status: 'ok', latency_ms: 1 };
  const lookup = { type: 'retrieval', ts: 3, query: '', doc_ids: [] };
  const events = (...list: unknown[]) => ({ proposed_actions: [], events: list });
  const rows: Row[] = [
    ['a missing case_id', { case_id: undefined }, 'AA10 case_id'],
    ['an unsafe case_id', { case_id: '../../escape' }, 'AA10 case_id'],
    ['an unknown side', { version: 'old' }, 'AA10 version'],
    ['a null workflow_id', { workflow_id: null }, 'AA10 workflow_id'],
    ['an unknown status', { status: 'passed' }, 'AA11 status'],
    ['missing events', { events: undefined, proposed_actions: [] }, 'AA11 events'],
    ['missing proposed actions', { proposed_actions: undefined }, 'AA11 proposed_actions'],
    ['a missing final output', { final_output: undefined }, 'AA11 final_output'],
    ['a failure, even if null', { runner_failure: null }, 'AA11 runner_failure', 'AA17 runner_failure'],
    ['attempts that count from 0', { attempts: [attempt({ attempt: 0 })] }, 'AA12 attempts[0].attempt'],
    ['a gap in the attempts', { attempts: [failed({}), attempt({ attempt: 3 })] }, 'AA12 attempts[1].attempt'],
    [
      'a failed attempt without a class',
      { attempts: [failed({ error_class: undefined }), attempt({ attempt: 2 })] },
      'AA12 attempts[0].error_class',
    ],
    [
      'a successful attempt with a class',
      { attempts: [attempt({ error_class: 'other' })] },
      'AA12 attempts[0].error_class',
    ],
    [
      'a failed attempt with an unknown class',
      { attempts: [failed({ error_class: 'dns' }), attempt({ attempt: 2 })] },
      'AA4 attempts[0].error_class',
    ],
    [
      'an attempt without a valid start time',
      { attempts: [attempt({ started_at: 'today' })] },
      'AA12 attempts[0].started_at',
    ],
    ['missing attempts', { attempts: undefined }],
    [
      'an unknown content_type',
      { final_output: { content_type: 'html', content: '' } },
      'AA13 final_output.content_type',
    ],
    ['text that is not a string', { final_output: { content_type: 'text', content: {} } }, 'AA13 final_output.content'],
    [
      'JSON that is not an object',
      { final_output: { content_type: 'json', content: '{}' } },
      'AA13 final_output.content',
    ],
    ['missing content', { final_output: { content_type: 'text' } }, 'AA13 final_output.content'],
    ['a list as content', { final_output: { content_type: 'json', content: [] } }, 'AA13 final_output.content'],
    ['an object as content', { final_output: { content_type: 'json', content: { ok: true } } }],
    ['proposed actions that are not a list', { proposed_actions: {} }, 'AA14 proposed_actions'],
    ['an action with malformed params', action({ params: 'all' }), 'AA14 proposed_actions[0].params'],
    ['an action without risk tags', action({ risk_tags: undefined }), 'AA14 proposed_actions[0].risk_tags'],
    ['evidence of an unknown kind', refs({ kind: 'rumour', id: 'x' }), `AA15 ${ref}.kind`],
    ['evidence that is null', action({ evidence_refs: null }), 'AA15 proposed_actions[0].evidence_refs'],
    ['evidence without an identifier', refs({ kind: 'tool_result' }), `AA15 ${ref}.call_id`],
    [
      'evidence with the identifier of another kind',
      refs({ kind: 'retrieval_doc', id: 'policy/refunds' }),
      `AA15 ${ref}.doc_id`,
      `AA15 ${ref}.id`,
    ],
    ['evidence with two identifiers', refs({ kind: 'tool_result', call_id: 'call_1', id: 'x' }), `AA15 ${ref}.id`],
    [
      'evidence from a call that does not exist',
      refs({ kind: 'tool_result', call_id: 'call_2' }),
      `AA15 ${ref}.call_id`,
    ],
    [
      'evidence from a document that was not retrieved',
      refs({ kind: 'retrieval_doc', doc_id: 'policy/none' }),
      `AA15 ${ref}.doc_id`,
    ],
    ['evidence from an event that does not exist', refs({ kind: 'event', id: 'events[4]' }), `AA15 ${ref}.id`],
    ['an event index with a leading zero', refs({ kind: 'event', id: 'events[03]' }), `AA15 ${ref}.id`],
    ['evidence from the last event', refs({ kind: 'event', id: 'events[3]' })],
    ['evidence from an event with an id', { ...refs({ kind: 'event', id: 'e1' }), events: [{ ...call, id: 'e1' }] }],
    [
      'evidence from an event of unknown type',
      { ...refs({ kind: 'event', id: 'e2' }), events: [{ type: 'thought', ts: 1, id: 'e2' }] },
    ],
    ['an asset named by its id', refs({ kind: 'asset', id: 'asset_7' })],
    ['an asset outside the folder', refs({ kind: 'asset', id: 'assets/../../secret' }), `AA2 ${ref}.id`],
    [
      'an absolute payload path',
      events(call, { ...result, payload_asset_href: '/etc/passwd' }),
      'AA2 events[1].payload_asset_href',
    ],
    [
      'a payload outside assets/',
      events(call, { ...result, payload_asset_href: 'payload.json' }),
      'AA2 events[1].payload_asset_href',
    ],
    ['a null payload link', events(call, { ...result, payload_asset_href: null }), 'AA2 events[1].payload_asset_href'],
    [
      'snippets outside assets/',
      events({ ...lookup, snippets_asset_href: 'https://example.com/x' }),
      'AA2 events[0].snippets_asset_href',
    ],
    ['a digest without a prefix', events(call, { ...result, payload_asset_sha256: HEX })],
    [
      'a digest that is too short',
      events(call, { ...result, payload_asset_sha256: HEX.slice(1) }),
      'AA20 events[1].payload_asset_sha256',
    ],
    ['a call without arguments', events({ ...call, args: undefined }), 'AA16 events[0].args'],
    [
      'a call with several faults, and reports all of them',
      events({ ...call, args: [], ts: undefined, tool: 5 }),
      'AA16 events[0].args',
      'AA16 events[0].tool',
      'AA16 events[0].ts',
    ],
    ['a malformed second event', events(call, { ...result, status: 'timeout' }), 'AA16 events[1].status'],
    ['a result with a malformed latency', events(call, { ...result, latency_ms: '1 ms' }), 'AA16 events[1].latency_ms'],
    ['a retrieval with malformed doc_ids', events({ ...lookup, doc_ids: 'a' }), 'AA16 events[0].doc_ids'],
    [
      'an output event without content',
      events({ type: 'final_output', ts: 1, content_type: 'text' }),
      'AA16 events[0].content',
    ],
    [
      'an output event whose content does not fit its type',
      events({ type: 'final_output', ts: 1, content_type: 'text', content: {} }),
      'AA16 events[0].content',
    ],
    ['a null event', events(null), 'AA16 events[0]'],
    ['an event without a type', events({ ts: 1 }), 'AA16 events[0].type'],
    ['an event of unknown type without a time', events({ type: 'thought' }), 'AA16 events[0].ts'],
    [
      'an event of unknown type with any other keys',
      events({ type: 'tool_call_2', ts: 1, args: 7, deep: { er: [null] } }),
    ],
    ['an empty list of events', events()],
  ];
  testRows(caseArtifact, exampleCase, rows);

  test('advises against a result without a call', () => {
    const { violations, advice } = judged(caseArtifact, { ...exampleCase, ...events(result) });
    expect(violations).toEqual([]);
    expect(advice).toEqual([
      { rule_id: 'AA16', path: 'events[0].call_id', message: 'events[0].call_id matches no tool_call.' },
    ]);
  });

  test('advises against a failed last attempt in a case with status ok', () => {
    expect(adviceOn(caseArtifact, { ...exampleCase, attempts: [failed({})] })).toEqual(['AA12 attempts[0].outcome']);
  });

  test('advises against an unknown key in an event of known type', () => {
    expect(adviceOn(caseArtifact, { ...exampleCase, ...events({ ...call, mood: 'good' }) })).toEqual([
      'AA16 events[0].mood',
    ]);
  });

  test('claims every linked file, with a normalized digest', () => {
    const bare = { ...result, payload_asset_href: 'assets/p.json', payload_asset_sha256: HEX.toUpperCase() };
    expect(claimsOf(caseArtifact, { ...exampleCase, events: [bare] })).toEqual([
      { at: 'proposed_actions[0].evidence_refs[3].id', file: 'assets/full_payload_refund-small_new.json' },
      { at: 'events[0].payload_asset_href', file: 'assets/p.json', sha256: `sha256:${HEX}` },
    ]);
    expect(claimsOf(caseArtifact, exampleCase).map(({ at }) => at)).toContain('events[0].snippets_asset_href');
  });
});

describe('the contract for a case with a failure', () => {
  const failure = (change: object) => ({ runner_failure: { ...caseFailureExample.runner_failure, ...change } });
  const bodiless = { body_snippet: null, full_body_saved_to: null, full_body_meta_saved_to: null };
  const saved = 'runner_failure.full_body_saved_to';
  const rows: Row[] = [
    ['a missing failure', { runner_failure: undefined }, 'AA11 runner_failure'],
    ['a response next to the failure', { final_output: { content_type: 'text', content: '' } }, 'AA11 final_output'],
    ['an empty list of events', { events: [] }, 'AA11 events'],
    ['malformed events next to the failure, and reports both faults', { events: 5 }, 'AA11 events', 'AA16 events'],
    ['a body outside assets/', failure({ full_body_saved_to: 'bodies/1.html' }), `AA2 ${saved}`],
    [
      'metadata outside assets/',
      failure({ full_body_meta_saved_to: '..\\1.json' }),
      'AA2 runner_failure.full_body_meta_saved_to',
    ],
    ['a snippet without a body', failure({ full_body_saved_to: null }), `AA3 ${saved}`],
    ['an empty snippet without a body', failure({ body_snippet: '', full_body_saved_to: null }), `AA3 ${saved}`],
    ['a missing body path', failure({ ...bodiless, full_body_saved_to: undefined }), `AA3 ${saved}`],
    ['a missing snippet', failure({ body_snippet: undefined }), 'AA3 runner_failure.body_snippet'],
    ['missing metadata', failure({ full_body_meta_saved_to: undefined })],
    ['a null body', failure(bodiless)],
    ['a body without a snippet', failure({ body_snippet: null })],
    ['a missing class', failure({ class: undefined }), 'AA4 runner_failure.class'],
    ['a class with the wrong letter case', failure({ class: 'Timeout' }), 'AA4 runner_failure.class'],
    ['a missing url', failure({ url: undefined }), 'AA6 runner_failure.url'],
    ['a url with credentials', failure({ url: 'http://:pw@localhost/run-case' }), 'AA6 runner_failure.url'],
    ['an attempt number that is not the last one', failure({ attempt: 1 }), 'AA12 runner_failure.attempt'],
    ['an attempt number without a list of attempts', { ...failure({ attempt: 5 }), attempts: undefined }],
    ['a case that was abandoned before its first attempt', { ...failure({ attempt: 0 }), attempts: [] }],
    ['an http_error without a status', failure({ status: undefined }), 'AA17 runner_failure.status'],
    ['a status below 100', failure({ status: 0 }), 'AA17 runner_failure.status'],
    [
      'a missing attempt number',
      { ...failure({ attempt: undefined }), attempts: undefined },
      'AA17 runner_failure.attempt',
    ],
    ['a null latency', failure({ latency_ms: null }), 'AA17 runner_failure.latency_ms'],
    ['an error_message that is not a string', failure({ error_message: {} }), 'AA17 runner_failure.error_message'],
  ];
  testRows(caseArtifact, caseFailureExample, rows);

  test('advises against a timeout without a duration', () => {
    const timeout = { ...failure({ class: 'timeout', timeout_ms: undefined }), attempts: undefined };
    expect(adviceOn(caseArtifact, { ...caseFailureExample, ...timeout })).toEqual(['AA17 runner_failure.timeout_ms']);
  });

  test('advises against a class that differs from the last attempt', () => {
    expect(adviceOn(caseArtifact, { ...caseFailureExample, ...failure({ class: 'invalid_json' }) })).toEqual([
      'AA12 attempts[1].error_class',
    ]);
  });

  test('claims its body and the metadata of the body', () => {
    expect(claimsOf(caseArtifact, caseFailureExample)).toEqual([
      { at: saved, file: 'assets/full_body_refund-large_new.html' },
      { at: 'runner_failure.full_body_meta_saved_to', file: 'assets/full_body_refund-large_new.meta.json' },
    ]);
  });
});

describe('the contract for a case answered by an agent', () => {
  const run = (change: object) => ({ agent_run: { ...agentRunExample, ...change } });
  const files = (total: number, listed: readonly object[]) =>
    run({ changes: { ...agentRunExample.changes, files: { total, listed } } });
  const file = { path: 'a', change: 'add', added: 1, removed: 0 };
  const hard = { class: 'forbidden_path', path: 'a', hard: true };
  const at = (place: string): string => `AA21 agent_run.${place}`;
  const rows: Row[] = [
    ['a complete agent run', run({})],
    ['unknown changes', run({ changes: null })],
    ['unknown line counts', files(1, [{ ...file, added: null, removed: null }])],
    ['a null agent run', { agent_run: null }, 'AA21 agent_run'],
    ['a malformed seal hash', run({ seal_sha256: 'abc' }), at('seal_sha256')],
    ['an unknown termination', run({ termination: 'killed' }), at('termination')],
    ['a reason that does not match the termination', run({ reason: 'stalled' }), at('reason')],
    [
      'a violation of an unknown class',
      run({ violations: { total: 1, listed: [{ class: 'x', hard: false }] } }),
      at('violations.listed[0].class'),
    ],
    ['a completed run with a hard violation', run({ violations: { total: 1, listed: [hard] } }), at('violations')],
    ['violations that are not listed', run({ violations: { total: 2, listed: [] } }), at('violations.listed')],
    ['a duplicate flag', run({ flags: [...agentRunExample.flags, ...agentRunExample.flags] }), at('flags[1].flag')],
    ['a flag with a blank message', run({ flags: [{ flag: 'needs_review', message: ' ' }] }), at('flags[0].message')],
    ['changed files that are not listed', files(3, [file]), at('changes.files.listed')],
    ['a changed file outside the work tree', files(1, [{ ...file, path: '../a' }]), at('changes.files.listed[0].path')],
    ['a negative line count', files(1, [{ ...file, added: -1 }]), at('changes.files.listed[0].added')],
    [
      'a run that is not that of the last attempt',
      { ...run({}), attempts: [attempt({ run_id: 'agent_20260106_120015_000000000000' })] },
      at('run_id'),
    ],
  ];
  testRows(caseArtifact, exampleCase, rows);
});
