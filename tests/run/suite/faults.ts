import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { answerTo, type answersWell, cutsItsBody, floods, gzipBomb, redirectsTo, saying, sending } from './agent.ts';

type Behaviour = typeof answersWell;

/** The behaviour of an agent, and its failure class in the contract. */
type Fault = readonly [what: string, behaviour: Behaviour, errorClass: string];

/** Faults of the transport, in any protocol. */
export const WIRE_FAULTS: readonly Fault[] = [
  ['answers 500', sending('{"oops":true}', {}, 500), 'http_error'],
  ['answers 404', sending('nothing here', { 'content-type': 'text/plain' }, 404), 'http_error'],
  ['answers 429', sending('later', { 'retry-after': '0' }, 429), 'http_error'],
  ['cuts its body', cutsItsBody, 'network_error'],
  ['sends 200 MB', floods(200_000_000), 'schema_mismatch'],
  ['sends a gzip bomb of 300 MB', gzipBomb(300_000_000), 'schema_mismatch'],
  ['sends broken gzip', sending('not gzip', { 'content-encoding': 'gzip' }), 'invalid_json'],
  ['sends gzip without its checksum', cut('gzip', gzipSync, 8), 'invalid_json'],
  ['sends gzip without its last byte', cut('gzip', gzipSync, 1), 'invalid_json'],
  ['sends deflate without its checksum', cut('deflate', deflateSync, 4), 'invalid_json'],
  ['sends brotli without its last byte', cut('br', brotliCompressSync, 1), 'invalid_json'],
  ['uses an unknown content encoding', sending('{}', { 'content-encoding': 'own' }), 'invalid_json'],
  ['sends too much with 201', sending(' '.repeat(2_100_000), {}, 201), 'schema_mismatch'],
  ['sends HTML', sending('<!doctype html><title>Hi</title>', { 'content-type': 'text/html' }), 'invalid_json'],
  ['sends nothing', sending(''), 'invalid_json'],
  ['redirects elsewhere', redirectsTo('http://127.0.0.1:1/', 307), 'http_error'],
  ['redirects to a file', redirectsTo('file:///etc/passwd', 302), 'http_error'],
  ['redirects to itself', redirectsTo('/run-case', 308), 'http_error'],
];

/** Documents that are not an answer in any protocol. A stream carries them in a frame. */
export const DOCUMENT_FAULTS: readonly (readonly [what: string, document: Buffer, errorClass: string])[] = [
  ['sends null', Buffer.from('null'), 'schema_mismatch'],
  ['sends a list', Buffer.from('[]'), 'schema_mismatch'],
  ['sends an empty object', Buffer.from('{}'), 'schema_mismatch'],
  ['sends bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), 'invalid_json'],
  ['sends the same key twice', Buffer.from('{"case_id":"a","case_id":"b"}'), 'invalid_json'],
  ['sends deep nesting', Buffer.from('['.repeat(200_000) + ']'.repeat(200_000)), 'schema_mismatch'],
];

/** Faults in the fields of Proctor's own protocol. */
export const REPLY_FAULTS: readonly Fault[] = [
  ['sends an event that is null', saying({ events: [null] }), 'schema_mismatch'],
  ['sends events that are null', saying({ events: null }), 'schema_mismatch'],
  ['sends no final output', saying({ final_output: undefined }), 'schema_mismatch'],
  ['answers another case', saying({ case_id: 'another' }), 'schema_mismatch'],
  ['answers for the other side', saying({ version: 'new' }), 'schema_mismatch'],
  ['cites a call that does not exist', action([{ kind: 'tool_result', call_id: 'c9' }]), 'schema_mismatch'],
  ['cites an asset of Proctor', action([{ kind: 'asset', id: 'assets/cases.ndjson' }]), 'schema_mismatch'],
  ['cites with two identifiers', action([{ kind: 'event', id: 'events[0]', call_id: 'c1' }]), 'schema_mismatch'],
  ['reports an unknown tool status', result({ status: 'pending' }), 'schema_mismatch'],
];

/** A good compressed answer without its last bytes. */
function cut(encoding: string, compress: (text: string) => Buffer, missing: number): Behaviour {
  return (seen, response, times) => {
    const bytes = compress(JSON.stringify(answerTo(seen)));
    sending(bytes.subarray(0, -missing), { 'content-encoding': encoding })(seen, response, times);
  };
}

function action(evidence_refs: object[]): Behaviour {
  const named = { action_id: 'a1', action_type: 'refund', tool_name: 'pay', risk_level: 'high', risk_tags: [] };
  return saying({
    proposed_actions: [{ ...named, params: {}, evidence_refs }],
    events: [{ type: 'tool_call', ts: 1, call_id: 'c1', tool: 'orders', args: {} }],
  });
}

function result(over: object): Behaviour {
  return saying({ events: [{ type: 'tool_result', ts: 1, call_id: 'c1', status: 'ok', latency_ms: 1, ...over }] });
}
