import { placeOf } from '../../base/place.ts';
import { type Contract, MIB } from '../contract.ts';
import { boundless } from '../gate/index.ts';
import { limitFindings } from '../gate/limits/index.ts';
import { type Finding, must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { declarationFindings, type TargetDeclaration } from '../target/index.ts';
import { PROJECT_NAME, type Project, type ProjectGate, projectShape, type ProjectTarget } from './shape.ts';

export type { Project, ProjectGate, ProjectSuite, ProjectTarget } from './shape.ts';

const rule = rulesFor<Project>();

const rules = [
  rule({
    id: 'PJ1',
    title: 'Project Known',
    why: 'A misspelled key would have no effect, so a test could pass without the check that you wanted.',
    asks: ['schema_version is "project.v1"', 'name, if present, is a string', NO_UNKNOWN_KEYS],
    fields: ['schema_version', 'name'],
    breach: project => ({ ...project, schema_version: 'project.v9' }),
  }),
  rule({
    id: 'PJ2',
    title: 'Targets Declared',
    why: 'A target tells Proctor what to start, where to send secrets, and how to read a reply.',
    asks: [
      'targets has 1 to 100 targets; each name has lower-case letters, digits, "-" and "_"',
      'a target is a target.v1 declaration without schema_version and name, or has kind script or agent',
      'a script has file, and may have profile, sandbox, isolation, cpus and provenance',
      'an agent has agent (claude or codex), and may have policy, dir, model, model_mode, recordings, prices, cpus, provenance, allow_untested_version and limits: max_turns, max_requests, max_tokens and max_cost_usd',
      'an agent may also have base (a commit), mounts (DIR or DIR:PATH) and checks, as in a checks file',
      'credentials are placeholders such as ${env:NAME}, never written out',
    ],
    fields: ['targets'],
    *check({ targets }) {
      yield* named(targets, 'targets');
      for (const [name, target] of Object.entries(targets)) yield* targetFindings(target, placeOf('targets', name));
    },
    breach: project => ({
      ...project,
      targets: { ...project.targets, 'Not A Name': { kind: 'script', file: 'a.py' } },
    }),
  }),
  rule({
    id: 'PJ3',
    title: 'Suites Have Targets',
    why: 'A suite needs cases and something that answers them.',
    asks: [
      'suites has 1 to 100 suites; each name has lower-case letters, digits, "-" and "_"',
      'cases is the path of a case file, relative to the project file',
      'target names a target of this file, or sides names one for baseline and one for new, but not both',
      'repeat and concurrency are integers from 1; retries is an integer from 0; timeout and idle_timeout are durations such as 60s',
      'only, if present, lists case ids; secrets lists environment variables; strict_replies is a boolean',
      'repeat, concurrency, retries, timeout, idle_timeout, strict_replies, gate and secrets at the top apply to every suite without its own',
    ],
    fields: ['suites', 'repeat', 'concurrency', 'retries', 'timeout', 'idle_timeout', 'strict_replies', 'secrets'],
    reads: ['targets'],
    *check({ suites, targets }) {
      yield* named(suites, 'suites');
      for (const [name, suite] of Object.entries(suites)) {
        const at = placeOf('suites', name);
        const { target, sides } = suite;
        if ((target === undefined) === (sides === undefined))
          yield must(`${at}.target`, 'must be present if and only if sides is not');
        yield* knownTarget(`${at}.target`, target, targets);
        yield* knownTarget(`${at}.sides.baseline`, sides?.baseline, targets);
        yield* knownTarget(`${at}.sides.new`, sides?.new, targets);
        if (sides && sides.baseline === sides.new) yield must(`${at}.sides`, 'must name two different targets');
      }
    },
    breach: ({ suites: { refunds }, ...project }) => ({
      ...project,
      suites: { refunds: { ...refunds, target: 'none' } },
    }),
  }),
  rule({
    id: 'PJ4',
    title: 'Verdict Declared',
    why: 'A team must be able to read what makes its test fail.',
    asks: [
      'gate, if present, is the path of a gate file or has the keys of one, without schema_version; if the gate at the top is a path, so is that of a suite',
      'baselines, if present, is a folder; default proctor/baselines',
      'reports, if present, lists html, junit, md, json, annotations or codequality; default html',
    ],
    fields: ['gate', 'baselines', 'reports'],
    reads: ['suites'],
    *check({ gate, suites }) {
      yield* gateFindings(gate, 'gate');
      for (const [name, suite] of Object.entries(suites)) {
        const at = `${placeOf('suites', name)}.gate`;
        yield* gateFindings(suite.gate, at);
        // The limits in the file would be lost without a word.
        if (typeof gate === 'string' && typeof suite.gate === 'object')
          yield must(at, 'must be a path, because the gate at the top is one');
      }
    },
    breach: project => ({ ...project, gate: { limits: {} } }),
  }),
];

function* named(members: object, at: string): Generator<Finding> {
  const names = Object.keys(members);
  if (names.length === 0 || names.length > MEMBERS_MAX) yield must(at, `must have 1 to ${MEMBERS_MAX} members`);
  for (const name of names.slice(0, MEMBERS_MAX)) {
    if (!PROJECT_NAME.test(name)) yield must(at, 'must have names of 1 to 63 lower-case letters, digits, "-" and "_"');
  }
}

const MEMBERS_MAX = 100;

/** The key is the name, so a name in the declaration would be a second one. */
function* targetFindings(target: ProjectTarget, at: string): Generator<Finding> {
  if (!isDeclaration(target)) return;
  if (target.name !== undefined) yield must(`${at}.name`, 'must be absent, because its key is its name');
  for (const { path, message } of declarationFindings(target)) yield must(`${at}.${path}`, message);
}

export function isDeclaration(target: ProjectTarget): target is TargetDeclaration {
  return target.kind !== 'script' && target.kind !== 'agent';
}

function* knownTarget(at: string, name: string | undefined, targets: object): Generator<Finding> {
  if (name !== undefined && !Object.hasOwn(targets, name)) yield must(at, 'must be the name of a target in this file');
}

function* gateFindings(gate: string | ProjectGate | undefined, at: string): Generator<Finding> {
  if (gate === undefined || typeof gate === 'string') return;
  yield* boundless(gate.tolerances ?? {}, `${at}.tolerances`);
  yield* limitFindings(gate, at);
}

const example: Project = {
  schema_version: 'project.v1',
  name: 'help-desk',
  targets: {
    desk: {
      kind: 'http',
      url: 'http://127.0.0.1:${port}',
      start: { run: ['node', 'agent.mjs'], ready: { path: '/health', within: '30s' } },
      request: { path: '/chat', body: { message: '${input.user}' } },
      reply: { final_output: '$.answer' },
    },
    coder: { kind: 'agent', agent: 'claude', policy: 'edit', dir: '.', max_cost_usd: 1.5, timeout: '15m' },
    report: { kind: 'script', file: 'tools/report.py', profile: 'strict' },
  },
  suites: {
    refunds: { cases: 'proctor/refunds.yaml', target: 'desk', repeat: 3 },
  },
  gate: { mode: 'balanced', limits: { max_failing: 0 } },
  baselines: 'proctor/baselines',
  reports: ['html', 'junit'],
};

export const project: Contract = {
  name: 'project',
  title: 'Project',
  tells: 'What a team tests and what makes the test fail: targets, suites, gate, baselines and reports.',
  source: 'Proctor, test',
  version: { field: 'schema_version', value: 'project.v1' },
  shape: projectShape,
  rules,
  unknownKeys: 'PJ1',
  programText: ['targets', 'suites', 'baselines'],
  beyond: ['whether its files exist', 'whether its targets answer'],
  bytesMax: MIB,
  example,
};
