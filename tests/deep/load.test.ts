import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { SLOTS } from '../../src/execute/host/slots.ts';
import {
  cgroupsOfOurs,
  groupsLeft,
  mountsOfOurs,
  outcomeIn,
  type Place,
  place,
  Started,
  until,
} from '../support/runs.ts';
import { ROOT } from '../support/support.ts';

const AT_ONCE = 64;

/** Records what it sees and when; all runs share the machine's clock. */
const SCRIPT = `import os, json, sys, time, proctor_tool
began = time.clock_gettime(time.CLOCK_MONOTONIC)
names = os.listdir('input')
found = open('input/' + names[0]).read() if names else ''
others = sorted(os.listdir('.'))
time.sleep(0.05)
with open('output/found.json', 'w') as file:
    json.dump({'args': sys.argv[1:], 'names': names, 'found': found, 'others': others, 'began': began,
               'ended': time.clock_gettime(time.CLOCK_MONOTONIC)}, file)
print('said by', sys.argv[1])
proctor_tool.succeed('<p>' + sys.argv[1] + '</p>')
`;

interface Found {
  readonly args: readonly string[];
  readonly names: readonly string[];
  readonly found: string;
  readonly others: readonly string[];
  readonly began: number;
  readonly ended: number;
}

describe(`${AT_ONCE} runs at once`, () => {
  test('from as many processes each see only their own files, and at most one run per slot is active', async () => {
    const here = furnished();
    const before = { groups: new Set(cgroupsOfOurs()), mounts: mountsOfOurs() };
    const started = Array.from({ length: AT_ONCE }, (_, no) =>
      here.start(['run', 'script', 'load.py', '--json', '--input', `inputs/${no}.txt`, '--', `no-${no}`]),
    );
    const ended = await Promise.all(started.map(({ ended }) => ended));
    for (const { code, stderr } of ended) expect(code, stderr).toBe(0);
    expectEach(
      here,
      ended
        .map(({ stdout }) => JSON.parse(stdout) as { folder: string })
        .map(({ folder }) => path.join(here.cwd, folder)),
    );
    for (const [no, { stderr }] of ended.entries()) expect(stderr).toBe(`said by no-${no}\n`);
    await expectNothingLeft(before);
  });

  test('from one process, through the library, each see only their own files', async () => {
    const here = furnished();
    const before = { groups: new Set(cgroupsOfOurs()), mounts: mountsOfOurs() };
    const program = `
      const { runScript } = await import(${JSON.stringify(pathToFileURL(path.join(ROOT, 'dist', 'index.js')))});
      const results = await Promise.all(Array.from({ length: ${AT_ONCE} }, (_, no) =>
        runScript({ script: 'load.py', inputs: ['inputs/' + no + '.txt'], args: ['no-' + no] })));
      process.stdout.write(JSON.stringify(results.map(({ status, folder, html, files }) => ({ status, folder, html, files }))));`;
    const { code, stdout, stderr } = await new Started(
      spawn(process.execPath, ['--input-type=module', '-e', program], {
        cwd: here.cwd,
        env: { ...process.env, TMPDIR: here.temp },
      }),
    ).ended;
    expect(code, stderr).toBe(0);
    const results = JSON.parse(stdout) as { status: string; folder: string; html: string; files: { path: string }[] }[];
    for (const [no, result] of results.entries()) {
      expect(result).toMatchObject({
        status: 'succeeded',
        html: `<p>no-${no}</p>`,
        files: [{ path: 'output/found.json' }],
      });
    }
    expectEach(
      here,
      results.map(({ folder }) => folder),
    );
    await expectNothingLeft(before);
  });
});

function furnished(): Place {
  const here = place();
  here.file('load.py', SCRIPT);
  for (let no = 0; no < AT_ONCE; no++) here.file(`inputs/${no}.txt`, `the secret of ${no}`);
  return here;
}

/** The run folders, in the order of their start. */
function expectEach(here: Place, folders: readonly string[]): void {
  expect(here.runFolders().sort()).toEqual([...folders].sort());
  expect(new Set(folders).size).toBe(AT_ONCE);
  const all = folders.map(
    folder => JSON.parse(readFileSync(path.join(folder, 'output', 'found.json'), 'utf8')) as Found,
  );
  for (const [no, { args, names, found, others }] of all.entries()) {
    expect({ args, names, found, others }).toEqual({
      args: [`no-${no}`],
      names: [`${no}.txt`],
      found: `the secret of ${no}`,
      others: ['input', 'load.py', 'output'],
    });
    const folder = folders[no] as string;
    expect(outcomeIn(folder)).toMatchObject({ status: 'succeeded', ending: { how: 'exited', code: 0 } });
    expect(readFileSync(path.join(folder, 'evidence/steps/script/stdout.txt'), 'utf8')).toBe(`said by no-${no}\n`);
  }
  expect(mostAtOnce(all)).toBeLessThanOrEqual(SLOTS);
}

function mostAtOnce(all: readonly Found[]): number {
  const moments = all.flatMap(({ began, ended }) => [
    { at: began, by: 1 },
    { at: ended, by: -1 },
  ]);
  let alive = 0;
  let most = 0;
  for (const { by } of moments.sort((a, b) => a.at - b.at)) {
    alive += by;
    most = Math.max(most, alive);
  }
  return most;
}

async function expectNothingLeft(before: { groups: ReadonlySet<string>; mounts: readonly string[] }): Promise<void> {
  await until('no control group is left', () => groupsLeft(before.groups).length === 0);
  expect(mountsOfOurs()).toEqual(before.mounts);
}
