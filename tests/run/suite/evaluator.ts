/**
 * An independent reader of run folders, written from Agent Artifact Contract v1. It shares no code with Proctor and
 * trusts nothing. It also requires the provenance that the evaluator of agent-qa-toolkit needs.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

type Json = Record<string, unknown>;

export interface EvaluatorCase {
  readonly id: string;
  readonly expected?: {
    readonly must_include?: readonly string[];
    readonly tool_required?: readonly string[];
    readonly action_required?: readonly string[];
    readonly evidence_required_for_actions?: boolean;
  };
}

export interface Evaluated {
  readonly baseline: Readonly<Record<string, boolean>>;
  readonly new: Readonly<Record<string, boolean>>;
  /** The provenance fields that differ. */
  readonly changed: readonly string[];
}

/** Reads and judges every case on both sides. Throws at the first violation of the contract. */
export function evaluated(baselineDir: string, newDir: string, cases: readonly EvaluatorCase[]): Evaluated {
  const sides = { baseline: new RunReader(baselineDir, 'baseline'), new: new RunReader(newDir, 'new') };
  const before = sides.baseline.provenance();
  const now = sides.new.provenance();
  ask(before['agent_id'] === now['agent_id'], 'both sides have the same agent_id');
  const passes = (side: RunReader) => Object.fromEntries(cases.map(one => [one.id, side.passes(one)]));
  return {
    baseline: passes(sides.baseline),
    new: passes(sides.new),
    changed: PROVENANCE.filter(field => before[field] !== now[field]),
  };
}

const PROVENANCE = [
  'agent_id',
  'agent_version',
  'model',
  'model_version',
  'prompt_version',
  'tools_version',
  'config_hash',
];

const CLASSES = new Set(['timeout', 'http_error', 'invalid_json', 'schema_mismatch', 'network_error', 'other']);

class RunReader {
  readonly #folder: string;
  readonly #side: string;
  readonly #run: Json;

  constructor(folder: string, side: string) {
    this.#folder = folder;
    this.#side = side;
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.json')) continue;
      const text = readFileSync(path.join(folder, file), 'utf8');
      ask(!/"\/(?:home|root|tmp|Users|work)\//.test(text), `${file} has no absolute path`);
      // This record has its own contract with fixed keys.
      const version = path.basename(file) === 'runner.json' ? 'runner_schema_version' : 'schema_version';
      ask(typeof (JSON.parse(text) as Json)[version] === 'string', `${file} has ${version}`);
    }
    this.#run = this.#read('run.json', 'run.v1');
    for (const key of ['run_id', 'base_url', 'cases_path', 'out_dir', 'runner_version']) {
      ask(typeof this.#run[key] === 'string', `run.json has ${key}`);
    }
    ask(isIso(this.#run['generated_at']), 'generated_at is ISO 8601');
    ask(this.#run['version'] === side, `version is ${side}`);
    for (const key of ['cases_path', 'out_dir']) ask(!path.isAbsolute(String(this.#run[key])), `${key} is relative`);
    this.#checkManifest();
  }

  provenance(): Json {
    const provenance = objectIn(this.#run, 'provenance');
    for (const field of PROVENANCE) {
      const value = provenance[field];
      ask(typeof value === 'string' && value.trim() !== '', `run.json of ${this.#side} has provenance.${field}`);
    }
    return provenance;
  }

  passes({ id, expected = {} }: EvaluatorCase): boolean {
    ask((this.#run['selected_case_ids'] as string[]).includes(id), `${id} was selected`);
    const artifact = this.#read(`${id}.json`, 'case.v1');
    ask(artifact['case_id'] === id && artifact['version'] === this.#side, `${id} says whose it is`);
    if (artifact['status'] === 'runner_error') {
      this.#checkFailure(objectIn(artifact, 'runner_failure'));
      return false;
    }
    ask(artifact['status'] === 'ok', `${id} is ok or a runner_error`);
    const output = objectIn(artifact, 'final_output');
    const text = output['content_type'] === 'text' ? String(output['content']) : JSON.stringify(output['content']);
    const events = listIn(artifact, 'events');
    const actions = listIn(artifact, 'proposed_actions');
    for (const action of actions) for (const ref of listIn(action, 'evidence_refs')) this.#checkRef(ref, events);
    const { must_include = [], tool_required = [], action_required = [] } = expected;
    const tools = new Set(events.filter(({ type }) => type === 'tool_call').map(({ tool }) => tool));
    const isBacked = (action: Json): boolean =>
      action['risk_level'] === 'low' || listIn(action, 'evidence_refs').some(ref => isAnswered(ref, events));
    return (
      must_include.every(words => text.toLowerCase().includes(words.toLowerCase())) &&
      tool_required.every(tool => tools.has(tool)) &&
      action_required.every(type => actions.some(({ action_type }) => action_type === type)) &&
      (expected.evidence_required_for_actions !== true || actions.every(isBacked))
    );
  }

  #checkFailure(failure: Json): void {
    ask(CLASSES.has(String(failure['class'])), 'the class is one of the stable ones');
    ask(String(failure['url']).endsWith('/run-case'), 'url is where the case was sent');
    ask(Number(failure['attempt']) >= 1, 'attempt counts from 1');
    if (failure['class'] === 'http_error') ask(typeof failure['status'] === 'number', 'an http_error has its status');
    if (failure['body_snippet'] === null) return;
    ask(this.#exists(failure['full_body_saved_to']), 'a body with a snippet is saved whole');
    const meta = this.#read(String(failure['full_body_meta_saved_to']), 'failure-meta.v1');
    ask(typeof meta['bytes_written'] === 'number' && typeof meta['truncated'] === 'boolean', 'the body is measured');
  }

  #checkRef(ref: Json, events: readonly Json[]): void {
    const { kind, call_id, doc_id, id } = ref;
    const isThere =
      kind === 'tool_result'
        ? events.some(event => event['call_id'] === call_id)
        : kind === 'retrieval_doc'
          ? events.some(event => (event['doc_ids'] as unknown[] | undefined)?.includes(doc_id))
          : kind === 'event'
            ? events.some((event, index) => id === `events[${index}]` || event['id'] === id)
            : kind === 'asset' && this.#exists(id);
    ask(isThere, `evidence of kind ${String(kind)} can be found`);
  }

  #checkManifest(): void {
    const manifest = this.#read('assets/manifest.json', 'assets-manifest.v1');
    ask(isIso(manifest['generated_at']), 'the manifest has its time');
    for (const item of listIn(manifest, 'items')) {
      ask(this.#exists(item['href']), 'an asset that is listed is there');
      ask(readFileSync(path.join(this.#folder, String(item['href']))).length === item['size_bytes'], 'and as large');
    }
  }

  #exists(href: unknown): boolean {
    return typeof href === 'string' && !path.isAbsolute(href) && existsSync(path.join(this.#folder, href));
  }

  #read(file: string, version: string): Json {
    const value = JSON.parse(readFileSync(path.join(this.#folder, file), 'utf8')) as Json;
    ask(value['schema_version'] === version, `${file} is ${version}`);
    return value;
  }
}

/** Whether the call has a result or a retrieved document. */
function isAnswered({ kind, call_id, doc_id }: Json, events: readonly Json[]): boolean {
  if (kind === 'tool_result') return events.some(event => event['type'] === kind && event['call_id'] === call_id);
  return (
    kind === 'retrieval_doc' && events.some(event => (event['doc_ids'] as unknown[] | undefined)?.includes(doc_id))
  );
}

function isIso(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value)) && /^\d{4}-\d\d-\d\dT/.test(value);
}

function objectIn(holder: Json, key: string): Json {
  const value = holder[key];
  ask(typeof value === 'object' && value !== null && !Array.isArray(value), `there is an object ${key}`);
  return value as Json;
}

function listIn(holder: Json, key: string): Json[] {
  ask(Array.isArray(holder[key]), `there is a list ${key}`);
  return holder[key] as Json[];
}

function ask(holds: boolean, what: string): void {
  if (!holds) throw new Error(`Contract violation: it is not true that ${what}.`);
}
