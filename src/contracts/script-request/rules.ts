import { redact } from '../../base/redact.ts';
import { ASKS } from '../agent-step/words.ts';
import { type Finding, must, rulesFor, should } from '../rule.ts';
import { isForbidden, isTelling } from '../runner/variables.ts';
import { bareNameTrouble } from './bare-name.ts';
import type { ScriptRequest } from './shape.ts';

const rule = rulesFor<ScriptRequest>();

const SQ1 = rule({
  id: 'SQ1',
  title: 'Request Version Known',
  why: 'A reader must know by which rules a request was written before it believes a word of it.',
  asks: ['schema_version is "script-request.v1"', 'should (must, when strict): no key is unknown'],
  fields: ['schema_version'],
  breach: request => ({ ...request, schema_version: 'script-request.v9' }),
});

const SQ2 = rule({
  id: 'SQ2',
  title: 'Request Identified',
  why: 'A request that does not say which run it asked for can be laid to any.',
  asks: ['run_id is a name', ...ASKS.name, 'kind is "script"'],
  fields: ['run_id', 'kind'],
  breach: request => ({ ...request, kind: 'agent' }),
});

const SQ3 = rule({
  id: 'SQ3',
  title: 'Program Named',
  why: 'Which script ran, byte for byte, and by what it was read; but not where on which machine it lay.',
  asks: [
    'script has name, sha256 and bytes; interpreter has name, a bare name such as python3',
    'name of the script is a bare name: no path, no control or invisible character, at most 255 bytes',
    'sha256 is sha256: and 64 lower-case hexadecimal digits, bytes a whole number from 0 up',
  ],
  fields: ['script', 'interpreter'],
  *check({ script }) {
    const trouble = bareNameTrouble(script.name);
    if (trouble) yield must('script.name', trouble);
  },
  breach: request => ({ ...request, script: { ...request.script, name: 'reports/sum.py' } }),
});

const SQ4 = rule({
  id: 'SQ4',
  title: 'Arguments Masked',
  why: 'Evidence is shown to strangers, and people pass credentials on command lines.',
  asks: ['args is a list of at most 10,000 strings', 'none holds what looks like a credential'],
  fields: ['args'],
  *check({ args }) {
    for (const [index, text] of args.entries()) {
      // A mask may stand where a credential does, so what counts is whether masking again would change anything.
      if (redact(text).text !== text) yield must(`args[${index}]`, 'holds what looks like a credential');
    }
  },
  breach: request => ({ ...request, args: ['--token', `ghp_${'a1b2c3d4'.repeat(4)}`] }),
});

const SQ5 = rule({
  id: 'SQ5',
  title: 'Inputs Listed',
  why: 'A result can be reproduced only with the same inputs, and two of one name cannot lie in one folder.',
  asks: [
    'inputs is a list of at most 1,000; each has name, sha256 and bytes',
    'name is a bare name: no path, no control or invisible character, at most 255 bytes',
    'no name stands twice, whatever the case of its letters',
  ],
  fields: ['inputs'],
  *check({ inputs }) {
    const seen = new Set<string>();
    for (const [index, { name }] of inputs.entries()) {
      const trouble = bareNameTrouble(name);
      if (trouble) yield must(`inputs[${index}].name`, trouble);
      const folded = name.toLowerCase();
      if (seen.has(folded)) yield must(`inputs[${index}].name`, 'stands here twice, but for the case of its letters');
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
  why: 'What a script could read of its surroundings is told by name; a value would tell the secret itself.',
  asks: [
    'env_names and secret_names are lists of at most 1,000 names of variables, none with a value',
    'both are sorted by UTF-16 code unit, and nothing stands twice',
    'no name in env_names begins with SSH_, NPM_, GIT_, AWS_, OPENAI_ or ANTHROPIC_',
    'should: a variable in env_names that often holds a secret stands in secret_names',
  ],
  fields: ['env_names', 'secret_names'],
  *check({ env_names, secret_names }) {
    const secrets = new Set(secret_names);
    for (const [index, name] of env_names.entries()) {
      if (isForbidden(name)) yield must(`env_names[${index}]`, 'begins with a prefix that is kept for credentials');
      else if (isTelling(name) && !secrets.has(name) && !HARMLESS.has(name))
        yield should(`env_names[${index}]`, 'is a variable that often holds a secret, and is not declared as one');
    }
    yield* ascending(env_names, 'env_names');
    yield* ascending(secret_names, 'secret_names');
  },
  breach: request => ({ ...request, env_names: ['AWS_REGION', 'LANG'] }),
});

const SQ7 = rule({
  id: 'SQ7',
  title: 'Limits Stated',
  why: 'What was asked for and what was enforced are two facts, and a run without a bound is none that was asked for.',
  asks: [
    'requested has profile, a string that is not blank or null',
    'sandbox is none, process, container, vm or null; isolation is strict, standard, none or null',
    'timeout_ms, idle_timeout_ms, cpu_seconds, memory_bytes and pids are whole numbers from 1 up, or null',
    'max_output_files and max_total_output_bytes are whole numbers from 1 up, or null',
    'null is what was not asked for, so that a default is not taken for a wish',
  ],
  fields: ['requested'],
  breach: request => ({ ...request, requested: { ...request.requested, timeout_ms: 0 } }),
});

export const scriptRequestRules = [SQ1, SQ2, SQ3, SQ4, SQ5, SQ6, SQ7];

/** Inside a sandbox these name its own folders and its own user. */
const HARMLESS: ReadonlySet<string> = new Set(['HOME', 'PATH', 'USER', 'LOGNAME']);

function* ascending(names: readonly string[], at: string): Generator<Finding> {
  for (const [index, name] of names.entries()) {
    const previous = names[index - 1];
    if (previous === name) yield must(`${at}[${index}]`, 'repeats the entry before it');
    else if (previous !== undefined && name < previous) yield must(`${at}[${index}]`, 'breaks the sorted order');
  }
}
