import { describe, expect, test } from 'vitest';
import { contradictionsIn } from '../../../src/run/intent/constraints.ts';
import type { Asked } from '../../../src/run/intent/decide.ts';
import { placeholdersIn } from '../../../src/run/intent/placeholders.ts';
import { decided, fault, node, own, questionsIn } from './world.ts';

/** A file, so that the plan is not empty. */
const files = [{ path: 'note.txt', content: '' }];

const keysIn = (intent: object): string[] => placeholdersIn({ goal: 'g', ...intent }).map(({ key }) => key);

describe('placeholders', () => {
  test.each<[object, string[]]>([
    [{ goal: 'Deploy <service> to <region 2>' }, ['service', 'region 2']],
    [{ goal: 'Deploy it TBD' }, ['goal']],
    [{ goal: 'g', constraints: ['a', 'to be decided', 'TODO: ask'] }, ['constraints[1]', 'constraints[2]']],
    [{ goal: 'Which one???' }, ['goal']],
    [{ commands: [{ argv: ['node', '<file>', '--name=<who>', 'TBD'] }] }, ['file', 'who', 'commands[0].argv[3]']],
    [{ outputs: ['<where>', 'FIXME'] }, ['where', 'outputs[1]']],
    [{ files: [{ path: 'XXX', content: '<html>' }] }, ['files[0].path']],
    [{ goal: 'Release {{version}} of {{ service }}' }, ['version', 'service']],
    [{ commands: [{ argv: ['node', 'report-<version>.txt'] }] }, ['version']],
    [
      { commands: [{ argv: ['node', 'v<version>', 'app<env>.json', 's3://logs/<env>/x', 'image:<tag>'] }] },
      ['version', 'env', 'tag'],
    ],
    [{ commands: [{ argv: ['node', 'x.mjs', 'Release <version> is out', 'v{{version}}-rc'] }] }, ['version']],
    [{ commands: [{ argv: ['node', 'x.mjs', '{"tag":"<tag>"}'] }] }, ['tag']],
    [
      { commands: [{ argv: ['node', 'report-TBD.txt', '--to=TBD', 'out/???'] }] },
      ['commands[0].argv[1]', 'commands[0].argv[2]', 'commands[0].argv[3]'],
    ],
    [{ commands: [{ shell: 'node build.mjs --version <version>' }] }, ['version']],
    [{ commands: [{ shell: 'cat report-<version>.txt out/<env>/x | sort > out/all.txt' }] }, ['version', 'env']],
    [{ commands: [{ argv: ['sh', '-c', 'cp a out/<version>.md'] }] }, ['version']],
    [{ commands: [{ argv: ['grep', 'TODO', '<file>'] }] }, ['file']],
    [{ commands: [{ argv: ['node'], makes: ['out/<version>.md'] }] }, ['version']],
    [{ files: [{ path: 'in/notes-<version>.md', content: '' }] }, ['version']],
    [
      { outputs: ['out/<version>.md', 'out/v<version>.txt', 'out/{{env}}/', 'out/notes_TBD.md'] },
      ['version', 'env', 'outputs[3]'],
    ],
    [{ accept: [{ check: 'file_exists', path: 'out/<version>.md' }] }, ['version']],
    [{ constraints: ['Reject bad input. The deadline is TBD'] }, ['constraints[0]']],
  ])('are found in %j', (intent, keys) => {
    expect(keysIn(intent)).toEqual(keys);
  });

  test.each([
    { goal: 'List<string> and a<b and x <3 and <<y>> and </p>' },
    { goal: 'Keep a TODO list; nobody says TBDs' },
    { commands: [{ argv: ['node', '-e', 'if (a<b>c) console.log("<p>")', 'say TBD'] }] },
    { files: [{ path: 'a.html', content: '<html>TBD</html>' }] },
    { constraints: ['reject goals that are only TBD or TODO', 'Must not contain TBD', 'No TBD, no TODO.'] },
    { constraints: ['Flag every TODO', 'Treat "TBD" as missing', 'TBD, TODO and FIXME mean that a text is not done'] },
    { constraints: ['Must refuse placeholders such as <name> or {{name}}'] },
    { goal: 'Build a linter that detects FIXME' },
    { commands: [{ argv: ['node', '-e', 'const a = new Map<string>(); say("<b>")'] }] },
    { commands: [{ argv: ['codegen', 'List<string>', '<p>hello</p>', '--format={{.State.Status}}'] }] },
    { commands: [{ argv: ['grep', '-rn', 'TODO', 'src'] }, { argv: ['rg', 'TBD'] }] },
    { commands: [{ shell: 'sort <in >out/x; sort<in>out/y; wc -l <in > out/z; cat <<EOF >out/e' }] },
    { outputs: ['out/TODO.md', 'out/FIXME.txt', 'out/xxx.md', 'out/TBDs.md'] },
    { accept: [{ check: 'content_matches', path: 'out/a', pattern: '(?P<year>\\d+) <p> TBD' }] },
  ])('are not found in %j', intent => {
    expect(keysIn(intent)).toEqual([]);
  });
});

describe('a placeholder inside a word or a path', () => {
  const intent = {
    goal: 'Write the note',
    commands: [{ argv: ['node', 'note.mjs', 'report-<version>.txt'], makes: ['out/<version>.md'] }],
    outputs: ['out/<version>.md'],
    accept: [{ check: 'file_exists', path: 'out/<version>.md' }],
  };

  test.each(['plan-only', 'execute-sandbox'] as const)('leads to one question that names it, in mode %s', mode => {
    expect(decided(intent, { mode })).toMatchObject({
      kind: 'CLARIFY',
      questions: [
        'version: What should stand in place of <version> in commands[0].argv[2], commands[0].makes[0], outputs[0]?',
      ],
    });
  });

  test('is filled everywhere', () => {
    expect(decided(intent, { answers: { version: '2.4.0' } })).toMatchObject({
      kind: 'BUNDLE',
      intent: {
        commands: [{ argv: ['node', 'note.mjs', 'report-2.4.0.txt'], makes: ['out/2.4.0.md'] }],
        outputs: ['out/2.4.0.md'],
        accept: [{ path: 'out/2.4.0.md' }],
      },
    });
  });

  test('is checked against the profile once it is filled', () => {
    expect(decided(intent, { answers: { version: '../../x' } }).kind).toBe('REFUSE');
  });

  test('is filled without changing text that only mentions placeholders', () => {
    const constraints = ['Reject goals that are only TBD or TODO. The owner is TBD', 'No TODO left'];
    const answers = { 'constraints[0]': 'the platform team' };
    expect(decided({ goal: 'g', files, constraints }, { answers }).intent.constraints).toEqual([
      'Reject goals that are only TBD or TODO. The owner is the platform team',
      'No TODO left',
    ]);
  });
});

describe('contradictions', () => {
  const against = (intent: object): string[] =>
    contradictionsIn({ goal: 'g', ...intent }).map(({ index, against: what }) => `${index} ${what}`);

  test.each<[object, string[]]>([
    [{ constraints: ['within 5 seconds'], limits: { timeout_ms: 6_000 } }, ['0 limits.timeout_ms']],
    [{ constraints: ['within 5 seconds'], limits: { timeout_ms: 5_000 } }, []],
    [{ constraints: ['at most 2 minutes'], limits: { timeout_ms: 120_001 } }, ['0 limits.timeout_ms']],
    [{ constraints: ['no more than 1 file'], outputs: ['a', 'b'] }, ['0 outputs']],
    [
      { constraints: ['up to 1 files'], outputs: ['a', 'b'], limits: { max_output_files: 3 } },
      ['0 limits.max_output_files', '0 outputs'],
    ],
    [
      { constraints: ['at most 2 KiB'], limits: { max_total_output_bytes: 2_049 } },
      ['0 limits.max_total_output_bytes'],
    ],
    [{ constraints: ['stay offline'], network: true }, ['0 network']],
    [{ constraints: ['stay offline'], network: false }, []],
    [{ constraints: ['Must log.', 'must NOT log'] }, ['1 constraints[0]']],
    [{ constraints: ['must log', 'must log', 'must not sing'] }, []],
    [{ constraints: ['must not log', 'must not sing'] }, []],
    [
      { constraints: ['must not log', 'must sing', 'must log', 'must not sing!', 'must not sing', 'must dance'] },
      ['2 constraints[0]', '3 constraints[1]', '4 constraints[1]'],
    ],
    [
      { constraints: ['must sing', 'must not sing', 'must sing', 'must not sing . '] },
      ['1 constraints[0]', '3 constraints[0]'],
    ],
  ])('are found as expected in %j', (intent, found) => {
    expect(against(intent)).toEqual(found);
  });
});

describe('outputs that nothing makes', () => {
  const made = (...makes: string[]) => [{ ...node('0'), makes }];
  test.each<[object, string[]]>([
    [{ outputs: ['out/a'], commands: made('out/b') }, ['outputs[0].command']],
    [{ outputs: ['out/a', 'out/b'], commands: made('out/b') }, ['outputs[0].command']],
    [{ outputs: ['out/a'], commands: made('out/a') }, []],
    [{ outputs: ['out/a'], files: [{ path: 'out/a', content: '' }], commands: made() }, []],
    [{ outputs: ['out/a'], commands: [...made('out/b'), node('0')] }, []],
    [{ outputs: ['out/'], commands: made('out/sub/a') }, []],
    [{ outputs: ['out/a', 'out/sub/b', 'out/sub/'], commands: made('out/') }, []],
    [{ outputs: ['out/a', 'out/sub/b'], commands: made('out/sub/') }, ['outputs[0].command']],
    [{ outputs: ['out/sub/a'], commands: made('out/sub') }, ['outputs[0].command']],
  ])('are asked about as expected in %j', (intent, questions) => {
    expect(questionsIn(decided({ goal: 'g', ...intent }))).toEqual(questions);
  });
});

describe('an answer', () => {
  const PROFILE = own({ allow_network: true });
  const limits = { timeout_ms: 20_000 };
  /** The intent, its questions, and answers that resolve them. */
  const CASES: readonly [string, object, string[], Record<string, unknown>][] = [
    ['a name', { goal: 'Deploy <service>' }, ['service'], { service: 'web' }],
    ['a number for a name', { goal: 'Deploy <count> of it' }, ['count'], { count: 3 }],
    ['a word', { goal: 'Deploy TBD' }, ['goal'], { goal: 'it with $1 and $&' }],
    [
      'a constraint against a limit, choosing the constraint',
      { constraints: ['within 5 seconds'], limits },
      ['constraints[0] or limits.timeout_ms'],
      { 'constraints[0] or limits.timeout_ms': 'constraints[0]' },
    ],
    [
      'a constraint against a limit, choosing the limit',
      { constraints: ['within 5 seconds'], limits },
      ['constraints[0] or limits.timeout_ms'],
      { 'constraints[0] or limits.timeout_ms': 'limits.timeout_ms' },
    ],
    [
      'one constraint against the network and a limit',
      { constraints: ['offline, within 5 seconds'], limits, network: true },
      ['constraints[0] or network', 'constraints[0] or limits.timeout_ms'],
      {
        'constraints[0] or network': 'constraints[0]',
        'constraints[0] or limits.timeout_ms': 'limits.timeout_ms',
      },
    ],
    [
      'a constraint against a constraint',
      { constraints: ['must sing', 'must not sing'] },
      ['constraints[1] or constraints[0]'],
      { 'constraints[1] or constraints[0]': 'constraints[1]' },
    ],
    [
      'a constraint against outputs',
      { constraints: ['at most 1 file'], outputs: ['out/a', 'out/b'], commands: [node('0')] },
      ['constraints[0] or outputs'],
      { 'constraints[0] or outputs': 'outputs' },
    ],
    [
      'an output that nothing makes, with a command',
      { outputs: ['out/a'] },
      ['outputs[0].command'],
      { 'outputs[0].command': ['node', 'make.mjs'] },
    ],
    [
      'an output that nothing makes, left out',
      { outputs: ['out/a'] },
      ['outputs[0].command'],
      { 'outputs[0].command': false },
    ],
    [
      'an output with a placeholder in its name, which nothing creates',
      { outputs: ['TBD'] },
      ['outputs[0]'],
      { 'outputs[0]': 'out/a', 'outputs[0].command': ['node', 'make.mjs'] },
    ],
    [
      'a check for another exit code',
      { accept: [{ check: 'exit_code', equals: 3 }] },
      ['accept[0]'],
      { 'accept[0]': 0 },
    ],
    [
      'a check of a file that is not an output, added',
      { accept: [{ check: 'file_exists', path: 'out/a' }], commands: [node('0')] },
      ['accept[0]'],
      { 'accept[0]': true },
    ],
    [
      'a check of a file that is not an output, left out',
      { accept: [{ check: 'file_exists', path: 'out/a' }] },
      ['accept[0]'],
      { 'accept[0]': false },
    ],
    ['nothing to run', { goal: 'Sing' }, ['commands'], { commands: { commands: [node('0')] } }],
  ];

  test.each(CASES)('resolves its question by key and by id: %s', (_, rest, keys, answers) => {
    const intent = { goal: 'Do it', files, ...rest };
    const more: Partial<Asked> = {
      profile: PROFILE,
      mode: keys.includes('commands') ? 'execute-sandbox' : 'plan-only',
    };
    const open = decided(intent, more);
    expect(questionsIn(open)).toEqual(keys);
    expect(decided(intent, { ...more, answers })).toMatchObject({ kind: 'BUNDLE', bundle: { status: 'complete' } });
    if (open.kind !== 'CLARIFY') throw new Error('A question was expected.');
    const [first] = open.bundle.questions;
    const { [first?.key ?? '']: answer, ...others } = answers;
    expect(decided(intent, { ...more, answers: { ...others, [first?.id ?? '']: answer } }).kind).toBe('BUNDLE');
  });

  test('to one question leaves the others open', () => {
    const half = decided({ goal: '<a> and <b>', files }, { answers: { a: 'A' } });
    expect(questionsIn(half)).toEqual(['b']);
    expect(half.intent.goal).toBe('A and <b>');
  });

  test('can raise the next question, which the same answers file answers', () => {
    const answers = { a: '<b>', b: '<c>', c: 'end' };
    expect(decided({ goal: 'to the <a>', files }, { answers })).toMatchObject({
      kind: 'BUNDLE',
      intent: { goal: 'to the end' },
    });
  });

  test('that leads to an endless chain of questions is a fault', () => {
    const answers = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`n${at}`, `<n${at + 1}>`]));
    expect(fault(() => decided({ goal: 'to <n0>' }, { answers }))).toBe(
      'RUN_E003: Each answer raises a new question. Proctor stopped asking.',
    );
  });

  test('with a key that two questions share goes to the first, and the second needs its id', () => {
    const asked = { mode: 'execute-sandbox' } as const;
    const open = decided({ goal: 'Run <commands>' }, asked);
    expect(questionsIn(open)).toEqual(['commands', 'commands']);
    const id = open.kind === 'CLARIFY' ? (open.bundle.questions[1]?.id ?? '') : '';
    expect(questionsIn(decided({ goal: 'Run <commands>' }, { ...asked, answers: { commands: 'them' } }))).toEqual([
      'commands',
    ]);
    const answers = { commands: 'them', [id]: { commands: [node('0')] } };
    expect(decided({ goal: 'Run <commands>' }, { ...asked, answers }).kind).toBe('BUNDLE');
  });

  test.each<[string, object, Record<string, unknown>, string]>([
    ['to a question that was not asked', {}, { x: 1 }, 'The answers contain "x", which matches no question.'],
    [
      'called __proto__',
      {},
      JSON.parse('{"__proto__":1}') as never,
      'The answers contain "__proto__", which matches no question.',
    ],
    [
      'by key and by id',
      { goal: '<a>' },
      { a: '1', q_0: '2' },
      'The answers contain "q_0", which matches no question.',
    ],
    ['that is not a text', { goal: '<a>' }, { a: ['x'] }, 'The answer to a must be a text or a number.'],
    [
      'that chooses neither',
      { constraints: ['must x', 'must not x'] },
      { 'constraints[1] or constraints[0]': 'both' },
      'The answer to constraints[1] or constraints[0] must be "constraints[1]" or "constraints[0]".',
    ],
    [
      'that is not a command',
      { outputs: ['out/a'] },
      { 'outputs[0].command': 'node' },
      'The answer to outputs[0].command must be a list of words, or false.',
    ],
    [
      'that is not an exit code',
      { accept: [{ check: 'exit_code', equals: 3 }] },
      { 'accept[0]': 4 },
      'The answer to accept[0] must be 0 or false.',
    ],
    [
      'that is not yes or no',
      { accept: [{ check: 'file_exists', path: 'a' }] },
      { 'accept[0]': 'yes' },
      'The answer to accept[0] must be true or false.',
    ],
    [
      'with a NUL',
      { commands: [{ argv: ['node', '<a>'] }] },
      { a: 'x\0y' },
      'The intent is invalid: commands[0] contains a NUL, which cannot be passed to a program.',
    ],
  ])('%s is a fault', (_, rest, answers, message) => {
    expect(fault(() => decided({ goal: 'g', ...rest }, { answers }))).toBe(`RUN_E003: ${message}`);
  });

  test.each<[string, unknown, string]>([
    ['a list', [], 'The answer to commands must be an object with commands, files, outputs or accept.'],
    ['the network', { commands: [node('0')], network: true }, 'The proposal has a key that must not be proposed.'],
    ['another goal', { commands: [node('0')], goal: 'x' }, 'The proposal has a key that must not be proposed.'],
    ['invalid commands', { commands: 'node' }, 'The intent is invalid: commands must be a list, but is a string.'],
  ])('that proposes %s is refused', (_, value, message) => {
    const work = () => decided({ goal: 'g' }, { mode: 'execute-sandbox', answers: { commands: value } });
    expect(fault(work)).toBe(`RUN_E003: ${message}`);
  });

  test('adds to the intent, and removes nothing', () => {
    const written = {
      goal: 'g',
      files: [{ path: 'out/z', content: '' }],
      outputs: ['out/z'],
      accept: [{ check: 'file_exists', path: 'out/z' }],
      limits: { timeout_ms: 2_000 },
    };
    const answer = {
      commands: [node('0')],
      files: [{ path: 'a', content: '' }],
      outputs: ['out/z', 'out/y'],
      accept: [],
      limits: { timeout_ms: 9_000, max_output_files: 5 },
    };
    const { intent } = decided(written, { mode: 'execute-sandbox', answers: { commands: answer } });
    expect(intent).toMatchObject({
      files: [{ path: 'out/z' }, { path: 'a' }],
      outputs: ['out/z', 'out/y'],
      accept: written.accept,
      limits: { timeout_ms: 2_000, max_output_files: 5 },
    });
  });

  test('to a placeholder that occurs a million times is refused before it exhausts memory', () => {
    const work = () => decided({ goal: '<x> '.repeat(1_000_000) }, { answers: { x: 'y'.repeat(100_000) } });
    expect(fault(work)).toBe('RUN_E003: With its answers, the intent exceeds its size limit.');
  });

  test('with a command is checked against the profile', () => {
    const { refusals } = decided(
      { goal: 'g', outputs: ['out/a'] },
      { answers: { 'outputs[0].command': ['sh', '-c', 'x'] } },
    ) as {
      refusals?: readonly string[];
    };
    expect(refusals).toEqual([
      'PL6: commands[0].argv[0] runs "sh", which the profile strict does not allow. It allows node, npm.',
    ]);
    expect(decided({ goal: 'g', commands: [{ argv: ['<tool>'] }] }, { answers: { tool: '../node' } }).kind).toBe(
      'REFUSE',
    );
  });
});

test('limits the number of questions', () => {
  const constraints = Array.from({ length: 100_000 }, (_, at) => `thing ${at} is TBD`);
  expect(questionsIn(decided({ goal: 'g', files, constraints })).length).toBe(100);
});
