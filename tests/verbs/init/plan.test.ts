import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { project, type Project } from '../../../src/contracts/project/index.ts';
import type { TargetDeclaration } from '../../../src/contracts/target/index.ts';
import { readDocument } from '../../../src/run/written/document.ts';
import { declarationFaults } from '../../../src/targets/declaration-faults.ts';
import type { InitChoice } from '../../../src/verbs/init/plan.ts';
import { planProject } from '../../../src/verbs/init/plan-project.ts';
import type { Survey } from '../../../src/verbs/init/survey.ts';
import { unknownApi } from '../../../src/verbs/init/speech.ts';
import { casesIn } from '../../run/suite/cases-world.ts';

const NOTHING: Survey = {
  name: 'shop',
  isEmpty: true,
  servers: [],
  start: undefined,
  description: undefined,
  tests: undefined,
  agents: [],
  scripts: [],
};
const ORIGIN = 'http://127.0.0.1:8000';
const OPERATION = { path: '/v2/chat', ask: 'question', answer: 'reply' };
const server = (speaks: Survey['servers'][number]['speaks'], more = {}): Survey['servers'] => [
  { origin: ORIGIN, port: 8000, isNamed: false, hasHealth: false, speaks, ...more },
];

const SCENES: readonly (readonly [string, InitChoice, Partial<Survey>])[] = [
  ['example-agent', { kind: 'http', name: 'shop' }, {}],
  ['example-agent-in-a-project', { kind: 'http', name: 'shop' }, { isEmpty: false }],
  [
    'openai-chat',
    { kind: 'http', name: 'shop' },
    { isEmpty: false, servers: server({ kind: 'openai-chat', url: `${ORIGIN}/v1`, model: 'm:7b' }) },
  ],
  [
    'a2a',
    { kind: 'http', name: 'shop' },
    { isEmpty: false, servers: server({ kind: 'a2a', url: `${ORIGIN}/a2a`, protocol: '0.3' }) },
  ],
  ['proctor', { kind: 'http', name: 'shop' }, { isEmpty: false, servers: server({ kind: 'proctor', url: ORIGIN }) }],
  [
    'openapi',
    { kind: 'http', name: 'shop' },
    { isEmpty: false, servers: server({ kind: 'http', url: ORIGIN, operation: OPERATION }) },
  ],
  [
    'running-and-startable',
    { kind: 'http', name: 'shop' },
    { start: { port: 8000 }, servers: server(unknownApi(ORIGIN), { isNamed: true, hasHealth: true }) },
  ],
  ['startable', { kind: 'http', name: 'shop' }, { start: { port: undefined }, isEmpty: false }],
  [
    'startable-and-described',
    { kind: 'http', name: 'shop' },
    { start: { port: 3000 }, description: { file: 'openapi.yaml', operation: OPERATION }, isEmpty: false },
  ],
  ['url', { kind: 'http', name: 'shop', url: 'https://agent.example.com/v1/ask' }, {}],
  [
    'url-and-described',
    { kind: 'http', name: 'shop', url: 'http://127.0.0.1:9' },
    { description: { file: 'openapi.yaml', operation: OPERATION } },
  ],
  ['claude', { kind: 'agent', name: 'shop', agent: 'claude' }, { agents: ['claude'], tests: 'npm test' }],
  ['codex', { kind: 'agent', name: 'shop', agent: 'codex' }, { agents: ['codex'] }],
  ['example-script', { kind: 'script', name: 'shop' }, {}],
  ['own-script', { kind: 'script', name: 'a: "b"', script: { file: 'tools/total.py', readsCases: true } }, {}],
  ['own-program', { kind: 'script', name: '123', script: { file: 'my total.sh', readsCases: false } }, {}],
];

test.each(['npm test', 'go test ./...'])('the coding task in a comment is a valid case: %s', tests => {
  const { files } = planProject({ kind: 'agent', name: 'shop', agent: 'claude' }, { ...NOTHING, tests });
  const text = files.find(({ file }) => file === 'proctor/cases.yaml')?.text ?? '';
  const cases = casesIn('cases.yaml', text.replace(/^ {2}# (?=[ -])/gm, '  '));
  expect(cases.map(({ id }) => id)).toEqual(['describe', 'empty-input']);
  expect(cases[1]).toMatchObject({ policy: 'edit', checks: [{ name: 'hidden', command: tests }] });
});

test.each<[string, Partial<Survey>]>([
  ['an empty folder', { isEmpty: true }],
  ['a folder with a start script', { isEmpty: false, start: { port: undefined } }],
])('a running server is ignored in %s that does not name it', (_, found) => {
  const servers = server({ kind: 'proctor', url: ORIGIN });
  const { what } = planProject({ kind: 'http', name: 'shop' }, { ...NOTHING, ...found, servers });
  expect(what).not.toContain(ORIGIN);
});

describe.each(SCENES)('the project for %s', (name, choice, found) => {
  const { what, files, notes } = planProject(choice, { ...NOTHING, ...found });
  const textOf = (file: string): string => files.find(one => one.file === file)?.text ?? '';

  test('matches its golden file', async () => {
    const shown = [
      `tests: ${what}`,
      ...notes.map(note => `note: ${note}`),
      ...files.map(({ file, text }) => (file.endsWith('.mjs') ? `=== ${file}\n` : `=== ${file}\n${text}`)),
    ];
    await expect(shown.join('\n')).toMatchFileSnapshot(path.join(import.meta.dirname, 'golden', `${name}.txt`));
  });

  test('satisfies the contract, and its target has no faults', () => {
    const value = readDocument(Buffer.from(textOf('proctor.yaml')), {
      contract: project,
      file: 'project file',
      code: 'project_invalid',
    }) as Project;
    expect(value.name).toBe(choice.name);
    expect(value.gate).toEqual({ limits: { max_failing: 0 } });
    const [target] = Object.values(value.targets);
    const faults =
      target?.kind === 'script' || target?.kind === 'agent' ? [] : [...declarationFaults(target as TargetDeclaration)];
    expect(faults).toEqual([]);
  });

  test('has cases that can be read, each with an expectation', () => {
    const cases = casesIn('cases.yaml', textOf('proctor/cases.yaml'));
    expect(cases.length).toBeGreaterThan(0);
    for (const { expected } of cases) expect(expected).toBeDefined();
  });

  test('has lines of at most 120 characters, and names its schema first', () => {
    const text = textOf('proctor.yaml');
    expect(text).toMatch(/^# yaml-language-server: \$schema=\.\/node_modules\/proctor\/schemas\/project\.json\n/);
    expect(text.split('\n').filter(line => line.length > 120)).toEqual([]);
  });
});
