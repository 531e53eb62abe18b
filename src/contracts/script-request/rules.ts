import { redact } from '../../base/redact.ts';
import { STEP_ASKS } from '../agent-step/words.ts';
import { ascending } from '../lists.ts';
import { must, rulesFor, should, versionRule } from '../rule.ts';
import { isForbidden, isRevealing } from '../runner/variables.ts';
import { bareNameFault } from './bare-name.ts';
import type { ScriptRequest } from './shape.ts';

const rule = rulesFor<ScriptRequest>();

const SQ1 = versionRule('SQ1', 'Request Version Known', 'script-request.v1', 'a request');

const SQ2 = rule({
  id: 'SQ2',
  title: 'Request Identified',
  why: 'A request must name the run that it started.',
  asks: ['run_id is a name', ...STEP_ASKS.name, 'kind is "script"'],
  fields: ['run_id', 'kind'],
  breach: request => ({ ...request, kind: 'agent' }),
});

const SQ3 = rule({
  id: 'SQ3',
  title: 'Program Named',
  why: 'The hash identifies the script; its location on the host stays private.',
  asks: [
    'script has name, sha256 and bytes; interpreter has name, a bare name such as python3',
    "the script's name is a bare name: no path, no control or invisible characters, at most 255 bytes",
    'sha256 is sha256: followed by 64 lower-case hexadecimal digits; bytes is a non-negative integer',
    'published, if present, names a published script: name, version (a semantic version) and digest (as sha256)',
  ],
  fields: ['script', 'interpreter', 'published'],
  *check({ script }) {
    const fault = bareNameFault(script.name);
    if (fault) yield must('script.name', fault);
  },
  breach: request => ({ ...request, script: { ...request.script, name: 'reports/sum.py' } }),
});

const SQ4 = rule({
  id: 'SQ4',
  title: 'Arguments Masked',
  why: 'Evidence is shared, and users pass credentials on command lines.',
  asks: ['args is a list of at most 10,000 strings', 'none contains what looks like a credential'],
  fields: ['args'],
  *check({ args }) {
    for (const [index, text] of args.entries()) {
      // A masked argument can still match a credential pattern, so test whether masking changes it.
      if (redact(text).text !== text) yield must(`args[${index}]`, 'contains what looks like a credential');
    }
  },
  breach: request => ({ ...request, args: ['--token', `ghp_${'a1b2c3d4'.repeat(4)}`] }),
});

const SQ5 = rule({
  id: 'SQ5',
  title: 'Inputs Listed',
  why: 'To reproduce a result, you need the same inputs, and one folder cannot have two files with the same name.',
  asks: [
    'inputs is a list of at most 1,000; each has name, sha256 and bytes',
    'name is a bare name: no path, no control or invisible characters, at most 255 bytes',
    'no name is a duplicate, ignoring case',
  ],
  fields: ['inputs'],
  *check({ inputs }) {
    const seen = new Set<string>();
    for (const [index, { name }] of inputs.entries()) {
      const fault = bareNameFault(name);
      if (fault) yield must(`inputs[${index}].name`, fault);
      const folded = name.toLowerCase();
      if (seen.has(folded)) yield must(`inputs[${index}].name`, 'is a duplicate, ignoring case');
      seen.add(folded);
    }
  },
  breach: ({ inputs, ...rest }) => ({
    ...rest,
    inputs: [...inputs, ...inputs.map(input => ({ ...input, name: input.name.toUpperCase() }))],
  }),
});

const SQ6 = rule({
  id: 'SQ6',
  title: 'Variables Named',
  why: 'The request lists variables by name only, because a value may be a secret.',
  asks: [
    'env_names and secret_names are lists of at most 1,000 variable names, without values',
    'both are sorted by UTF-16 code unit, without duplicates',
    'no name in env_names starts with SSH_, NPM_, GIT_, AWS_, OPENAI_ or ANTHROPIC_',
    'should: a variable in env_names that often holds a secret is also in secret_names',
  ],
  fields: ['env_names', 'secret_names'],
  *check({ env_names, secret_names }) {
    const secrets = new Set(secret_names);
    for (const [index, name] of env_names.entries()) {
      if (isForbidden(name)) yield must(`env_names[${index}]`, 'starts with a prefix that is reserved for credentials');
      else if (isRevealing(name) && !secrets.has(name) && !HARMLESS.has(name))
        yield should(`env_names[${index}]`, 'often holds a secret, but is not declared as one');
    }
    yield* ascending(env_names, 'env_names');
    yield* ascending(secret_names, 'secret_names');
  },
  breach: request => ({ ...request, env_names: ['AWS_REGION', 'LANG'] }),
});

const SQ7 = rule({
  id: 'SQ7',
  title: 'Limits Stated',
  why: 'The requested limits are recorded separately from the enforced ones.',
  asks: [
    'requested has profile: a string that is not blank, or null',
    'sandbox is none, process, container, vm or null; isolation is strict, standard, none or null',
    'timeout_ms, idle_timeout_ms, cpu_seconds, memory_bytes and pids are positive integers or null',
    'max_output_files and max_total_output_bytes are positive integers or null',
    'null means that the caller did not set the limit',
  ],
  fields: ['requested'],
  breach: request => ({ ...request, requested: { ...request.requested, timeout_ms: 0 } }),
});

export const scriptRequestRules = [SQ1, SQ2, SQ3, SQ4, SQ5, SQ6, SQ7];

/** Inside a sandbox, these describe the sandbox. */
const HARMLESS: ReadonlySet<string> = new Set(['HOME', 'PATH', 'USER', 'LOGNAME']);
