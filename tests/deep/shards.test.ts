/** Four machines run a part each; a fifth collects their packs, merges them and decides. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Place } from '../support/runs.ts';

const CASES = Array.from({ length: 10 }, (_, at) => ({
  id: `case-${at}`,
  input: { user: `Question ${at}` },
  expected: { contains: at === 3 ? 'never' : `${at}` },
}));
const AGENT = `let text = ''; for await (const piece of process.stdin) text += piece; console.log('You asked: ' + text);`;
const TARGET = 'kind: command\nrun: [node, agent.mjs]\ninput: "${input.user}"\n';

const places: Place[] = [];
let collector: Place;

function machine(): Place {
  const place = new Place();
  places.push(place);
  place.file('cases.json', JSON.stringify(CASES));
  place.file('agent.mjs', AGENT);
  place.file('target.yaml', TARGET);
  return place;
}

const suite = ['run', 'suite', 'cases.json', '--target', 'target.yaml'];

beforeAll(() => {
  collector = machine();
  mkdirSync(path.join(collector.cwd, 'parts'));
  for (const index of [1, 2, 3, 4]) {
    const place = machine();
    const ran = place.proctor([...suite, '--as', 'new', '--shard', `${index}/4`]);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain(`This is part ${index} of 4.`);
    const file = path.join(collector.cwd, 'parts', `part-${index}.proctor.tar`);
    expect(place.proctor(['pack', 'latest', '--out', file]).code).toBe(0);
  }
  expect(collector.proctor([...suite, '--as', 'baseline']).code).toBe(0);
}, 120_000);

afterAll(() => {
  for (const place of places) place.remove();
});

test('a merged run compares as the same with the run in one process, and every command knows it', () => {
  const merged = collector.proctor(['merge', 'parts', '--json']);
  expect(merged.code, merged.stderr).toBe(0);
  const { runs } = JSON.parse(merged.stdout) as { runs: { run_id: string; folder: string; cases_total: number }[] };
  const [run] = runs;
  expect(run?.cases_total).toBe(10);
  expect(collector.proctor(['verify', run?.folder as string]).code).toBe(0);
  const compared = collector.proctor(['compare', '--json', '--format', 'json']);
  expect(compared.code, compared.stdout).toBe(0);
  const [id] = readdirSync(path.join(collector.cwd, '.proctor/comparisons'));
  const comparison = JSON.parse(
    readFileSync(path.join(collector.cwd, '.proctor/comparisons', id as string, 'comparison.json'), 'utf8'),
  ) as { cases: { change: string }[] };
  expect(comparison.cases.map(({ change }) => change)).toEqual(CASES.map(() => 'same'));

  const word = run?.run_id as string;
  expect(collector.proctor(['show', word]).stdout).toContain('merged    from 4 parts');
  expect(collector.proctor(['list']).stdout).toContain('10 of 10 cases');
  const report = collector.proctor(['report', word, '--format', 'md,html', '--out', 'report']);
  expect(report.code, report.stderr).toBe(0);
  expect(readFileSync(path.join(collector.cwd, 'report/report.md'), 'utf8')).toContain('Merged from 4 parts: ');
  expect(collector.proctor(['history', '--json']).code).toBe(0);
  expect(collector.proctor(['pack', word, '--out', 'whole.proctor.tar']).code).toBe(0);
  expect(collector.proctor(['verify', 'whole.proctor.tar']).code).toBe(0);
  expect(collector.proctor(['baseline', 'accept', word]).code).toBe(0);
  expect(collector.proctor(['verify', '.proctor']).code).toBe(0);
}, 60_000);

test('a missing part gives exit code 3, also with --partial, which writes the rest', () => {
  const three = [1, 2, 4].map(index => `parts/part-${index}.proctor.tar`);
  const refused = collector.proctor(['merge', ...three]);
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('shard 3/4 (2 cases)') as string });
  const partial = collector.proctor(['merge', ...three, '--partial', '--json']);
  expect(partial.code).toBe(3);
  const { runs } = JSON.parse(partial.stdout) as { runs: { folder: string }[] };
  expect(collector.proctor(['verify', runs[0]?.folder as string]).code).toBe(0);
  const compared = collector.proctor(['compare', 'baseline', runs[0]?.folder as string]);
  expect(compared).toMatchObject({ code: 3, stdout: expect.stringContaining('2 of 10 cases are missing') as string });
}, 60_000);

test('a part that is named twice, changed, or sealed anew gives exit code 1, and nothing is written', () => {
  const before = readdirSync(path.join(collector.cwd, '.proctor/runs/new'));
  const all = [1, 2, 3, 4].map(index => `parts/part-${index}.proctor.tar`);
  cpSync(path.join(collector.cwd, 'parts/part-1.proctor.tar'), path.join(collector.cwd, 'again.proctor.tar'));
  expect(collector.proctor(['merge', ...all, 'again.proctor.tar'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('twice') as string,
  });
  const pack = readFileSync(path.join(collector.cwd, 'parts/part-2.proctor.tar'));
  const at = pack.indexOf('You asked: Question');
  expect(at).toBeGreaterThan(0);
  pack[at] = 'y'.charCodeAt(0);
  writeFileSync(path.join(collector.cwd, 'changed.proctor.tar'), pack);
  const [one, , three, four] = all as [string, string, string, string];
  expect(collector.proctor(['merge', one, 'changed.proctor.tar', three, four])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('changed.proctor.tar') as string,
  });
  // With a key, a part that anyone sealed anew lacks its signature.
  const keyed = machine();
  expect(keyed.proctor(['keys', 'new']).code).toBe(0);
  const forged = keyed.proctor(['merge', ...all.map(file => path.join(collector.cwd, file))]);
  expect(forged).toMatchObject({ code: 1, stderr: expect.stringContaining('--key FILE (PT6)') as string });
  expect(readdirSync(path.join(collector.cwd, '.proctor/runs/new'))).toEqual(before);
  expect(existsSync(path.join(keyed.cwd, '.proctor/runs/new'))).toBe(false);
  expect(collector.proctor(['merge', 'nowhere']).code).toBe(2);
}, 60_000);

test('recover removes what a killed merge left, and the merge works again', () => {
  const place = machine();
  for (const index of [1, 2])
    place.proctor([...suite, '--as', 'new', '--run-id', `part-${index}`, '--shard', `${index}/2`]);
  // Just before the seal appears, when every other file is there.
  const kill = place.file('kill.cjs', KILL);
  const killed = place.proctor(['merge', 'part-1', 'part-2'], { env: { NODE_OPTIONS: `--require ${kill}` } });
  expect(killed.code).not.toBe(0);
  const left = readdirSync(path.join(place.cwd, '.proctor/runs/new')).filter(name => name.startsWith('suite_'));
  expect(left).toHaveLength(1);
  const folder = path.join('.proctor/runs/new', left[0] as string);
  expect(existsSync(path.join(place.cwd, folder, 'evidence/seal.json'))).toBe(false);
  expect(place.proctor(['verify', folder]).code).not.toBe(0);
  expect(place.proctor(['recover']).code).toBe(0);
  expect(existsSync(path.join(place.cwd, folder))).toBe(false);
  rmSync(kill);
  expect(place.proctor(['merge', 'part-1', 'part-2']).code).toBe(0);
  expect(place.proctor(['verify', '.proctor']).code).toBe(0);
}, 60_000);

/** Kills the process when it is about to publish the seal of the merged run. */
const KILL = `
const fs = require('node:fs');
const { renameSync } = fs;
fs.renameSync = (from, to) => {
  if (String(to).endsWith('evidence/seal.json')) process.kill(process.pid, 'SIGKILL');
  return renameSync(from, to);
};
require('node:module').syncBuiltinESMExports();
`;
