import { appendFileSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cloneFor } from '../src/execute/worktree/clone.ts';
import { makeStage, removeStage } from '../src/execute/host/workspace.ts';
import { type CheckPlace, layTree, runLook } from '../src/run/checks/look.ts';
import { type ReadyCheck, readyChecks } from '../src/run/checks/order.ts';
import { runChecks } from '../src/run/checks/run-checks.ts';
import { offersOf } from '../src/run/pipeline/runner-plan.ts';
import { sharedLauncher } from '../src/verbs/launcher.ts';
import { gitIn } from '../stand-ins/git.ts';
import { medians } from './interleaved.ts';

/**
 * The time of a check as Proctor runs it (copy of the tree, put-back, sandbox, evidence), divided by the bare command in
 * the same sandbox on a prepared tree.
 */
export async function checkFigures(cwd: string, rounds: number) {
  const unit = await ratioOf(cwd, 'node --test tests/*.test.js', rounds);
  const nothing = await ratioOf(cwd, 'true', rounds);
  return { ofBareCommand: unit.ratio, ofTrue: nothing.ratio, ms: { unit: unit.ms, nothing: nothing.ms } };
}

async function ratioOf(cwd: string, command: string, rounds: number) {
  const world = await checkWorld(cwd, command, rounds + WARM_UP);
  try {
    const ms = await medians({ bare: world.bare, check: world.check }, rounds);
    return { ratio: Number(((ms['check'] ?? 0) / (ms['bare'] ?? 1)).toFixed(2)), ms };
  } finally {
    world.close();
  }
}

/** The warm-up rounds of `interleaved`, which do not count. */
const WARM_UP = 3;

let count = 0;

async function checkWorld(cwd: string, command: string, rounds: number) {
  const id = `bench-${++count}`;
  const dir = path.join(cwd, id);
  layRepository(dir);
  const stage = makeStage(`${id}-clone`);
  const clone = await cloneFor(dir, stage, { runId: id, allowDirty: false, readOnly: false, selfContained: true });
  const workTree = path.join(cwd, `${id}-left`);
  cpSync(clone.tree, workTree, { recursive: true });
  // One file of the work, and one test that Proctor puts back.
  writeFileSync(path.join(workTree, 'src', 'm0.js'), 'export const work = 1;\n');
  appendFileSync(path.join(workTree, 'tests', 't0.test.js'), '// changed\n');
  const launcher = await sharedLauncher();
  const [check] = readyChecks([{ name: 'unit', command }], cwd, offersOf(await launcher.machine())) as [ReadyCheck];
  const place: CheckPlace = {
    runId: id,
    launcher,
    clone,
    workTree,
    mounts: [],
    secrets: [],
    mask: text => text,
    signal: undefined,
  };
  // A sandbox removes its tree when it closes, so every bare run needs its own.
  const prepared: string[] = [];
  for (let index = 0; index < rounds; index++) {
    const tree = makeStage(`${id}-prepared-${index}`);
    await layTree(check, place, tree, false);
    prepared.push(tree);
  }
  let run = 0;
  return {
    bare: async () => {
      const { verdict } = await runLook(check, place, prepared.shift() ?? '', `${id}-bare-${++run}`);
      if (verdict.verdict !== 'passed') throw new Error(verdict.message);
    },
    check: async () => {
      const folder = path.join(dir, '..', `${id}-run-${++run}`);
      mkdirSync(folder);
      const [note] = await runChecks([check], {
        ...place,
        runId: `${id}-${run}`,
        folder,
        mountNotes: [],
        note: () => undefined,
        obstacle: undefined,
      });
      if (note?.result.verdict !== 'passed') throw new Error(note?.result.message);
    },
    close: () => {
      for (const tree of prepared) removeStage(tree);
      removeStage(stage);
    },
  };
}

/** About 300 files and 5 MB, with 20 files of tests. */
function layRepository(dir: string): void {
  for (const folder of ['src', 'tests', 'docs']) mkdirSync(path.join(dir, folder), { recursive: true });
  writeFileSync(
    path.join(dir, 'package.json'),
    '{ "name": "bench", "type": "module", "scripts": { "test": "node --test" } }\n',
  );
  const filler = '// filler of a source file\n'.repeat(650);
  for (let index = 0; index < 280; index++)
    writeFileSync(
      path.join(dir, index < 250 ? 'src' : 'docs', `m${index}.js`),
      `export const value = ${index};\n${filler}`,
    );
  for (let index = 0; index < 20; index++)
    writeFileSync(
      path.join(dir, 'tests', `t${index}.test.js`),
      `import { test } from 'node:test';\nimport { value } from '../src/m${index + 1}.js';\ntest('t${index}', () => { if (value !== ${index + 1}) throw new Error(); });\n`,
    );
  gitIn(dir, 'init', '-q', '-b', 'main');
  gitIn(dir, 'add', '--all');
  gitIn(dir, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'One');
}
