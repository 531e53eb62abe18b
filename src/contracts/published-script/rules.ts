import { nameKey } from '../../base/path.ts';
import { isPrintable } from '../../base/printable.ts';
import { type Finding, must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { bareNameFault } from '../script-request/bare-name.ts';
import { inputFindings } from './input-findings.ts';
import { limitsOutside } from './limits.ts';
import type { PublishedScript } from './shape.ts';

const rule = rulesFor<PublishedScript>();

const PS1 = rule({
  id: 'PS1',
  title: 'Script Named',
  why: 'End users choose a script by its title, and evidence names the version that ran.',
  asks: [
    'schema_version is "published-script.v1"',
    'name has 1 to 63 lower-case letters, digits and "-"; it begins and ends with a letter or a digit',
    'version is a semantic version such as 1.2.0, of at most 64 characters',
    'title is one line of at most 200 characters; description, if present, has at most 10,000 characters',
    'title and description have no invisible or bidirectional control characters',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['schema_version', 'name', 'version', 'title', 'description'],
  *check({ title, description = '' }) {
    yield* readable('title', title);
    yield* readable('description', description);
  },
  breach: script => ({ ...script, version: '1.0' }),
});

const PS2 = rule({
  id: 'PS2',
  title: 'Files Of The Folder',
  why: 'A run may use only files that were published with the version.',
  asks: [
    'script is the bare name of a file in the folder',
    'files, if present, lists at most 100 relative paths; the script finds each in input/ by its bare name',
    'no two bare names are equal, ignoring case, and none is inputs.json',
    'no bare name begins with the name of a file input and a "." or "-", because uploaded files have such names',
  ],
  fields: ['script', 'files'],
  reads: ['inputs'],
  *check({ script, files = [], inputs = [] }) {
    const fault = bareNameFault(script);
    if (fault) yield must('script', fault);
    const uploads = inputs.filter(({ kind }) => kind === 'file').map(({ name }) => name);
    const seen = new Set([INPUTS_FILE]);
    for (const [index, file] of files.entries()) {
      const name = file.slice(file.lastIndexOf('/') + 1);
      const wrong = bareNameFault(name) ?? takenName(nameKey(name), seen, uploads);
      if (wrong) yield must(`files[${index}]`, wrong);
      seen.add(nameKey(name));
    }
  },
  breach: script => ({ ...script, script: 'tools/clean.py' }),
});

const PS3 = rule({
  id: 'PS3',
  title: 'Inputs Typed',
  why: 'The form, the checks and the script must agree on what each input is.',
  asks: [
    'inputs, if present, lists at most 50 inputs; each has name, label and kind, and may have required, default and help',
    'name has lower-case letters, digits and "_", and begins with a letter; no two are equal; a file is not named inputs',
    'label is one line of at most 200 characters; help has at most 1,000; neither has invisible characters',
    'kind is text, number, choice, date or file',
    'text may have max_length (1 to 100,000; default 1,000) and pattern (RE2, matches the whole text)',
    'number may have min, max and step; choice has 1 to 200 choices; date may have earliest and latest',
    'file may have accept (extensions such as .csv), max_bytes (1 to 256m; default 100m) and multiple; it has no default',
    'a default satisfies the limits of its input; a lower limit is not above its upper limit',
  ],
  fields: ['inputs'],
  *check({ inputs = [] }) {
    yield* inputFindings(inputs);
  },
  breach: ({ inputs = [], ...script }) => ({ ...script, inputs: [...inputs, ...inputs.slice(0, 1)] }),
});

const PS4 = rule({
  id: 'PS4',
  title: 'Script Limits In Range',
  why: 'A limit that cannot be enforced would stop the first run instead of the publication.',
  asks: [
    'limits, if present, may have timeout, idle_timeout, memory, cpu_seconds, cpus, pids, max_files and max_bytes',
    'each is in the range of the flag of proctor run script with the same name',
  ],
  fields: ['limits'],
  *check({ limits = {} }) {
    for (const { key, message } of limitsOutside(limits)) yield must(`limits.${key}`, message);
  },
  breach: script => ({ ...script, limits: { timeout: '3h' } }),
});

const PS5 = rule({
  id: 'PS5',
  title: 'Users And Retention',
  why: 'Who may run a script, and how long its results stay, must be readable in one place.',
  asks: [
    'who, if present, lists 1 to 50 roles or groups; without it, every user may run the script',
    'keep, if present, may have outputs and logs: times such as 30d',
  ],
  fields: ['who', 'keep'],
  breach: script => ({ ...script, keep: { outputs: '30' } }),
});

export const publishedScriptRules = [PS1, PS2, PS3, PS4, PS5];

/** The file in `input/` that has the values of all inputs. */
export const INPUTS_FILE = 'inputs.json';

function takenName(name: string, seen: ReadonlySet<string>, uploads: readonly string[]): string | undefined {
  if (seen.has(name)) return 'has a bare name that is already taken';
  const isUpload = uploads.some(
    upload => name === upload || name.startsWith(`${upload}.`) || name.startsWith(`${upload}-`),
  );
  return isUpload ? 'has a bare name that an uploaded file could have' : undefined;
}

function* readable(at: string, text: string): Generator<Finding> {
  if (!isPrintable(text.replace(/[\n\t]/g, ' ')))
    yield must(at, 'contains an invisible or bidirectional control character');
}
