import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../support/support.ts';
import { action } from './runner.ts';

const read = (...names: string[]): string => readFileSync(path.join(ROOT, ...names), 'utf8');

describe('action.yml', () => {
  test('uses other actions by name and major version only', () => {
    const used = action.runs.steps.flatMap(({ uses }) => uses ?? []);
    expect(used).toEqual([
      'actions/setup-node@v4',
      'actions/cache/restore@v4',
      'actions/cache/save@v4',
      'actions/download-artifact@v4',
      'actions/upload-artifact@v4',
      'actions/upload-artifact@v4',
    ]);
  });

  test('caches Proctor before the agent runs, and under the key it restores', () => {
    const names = action.runs.steps.map(({ name }) => name);
    expect(names.indexOf('Save Proctor')).toBeLessThan(names.indexOf('Test'));
    const [restored, saved] = ['Restore Proctor', 'Save Proctor'].map(word =>
      action.runs.steps.find(({ name }) => name === word),
    );
    expect(saved?.with).toEqual(restored?.with);
  });

  test('never pastes an expression into a script, and gives the token to the comment only', () => {
    const scripts = action.runs.steps.filter(({ run }) => run !== undefined);
    expect(scripts.length).toBeGreaterThan(3);
    for (const { name, run, shell, env } of scripts) {
      expect(run, name).not.toContain('${{');
      expect(shell, name).toBe('bash');
      expect(JSON.stringify(env ?? {}).includes('github-token'), name).toBe(name === 'Comment on the pull request');
    }
  });

  test('neither caches nor uploads a .proctor folder', () => {
    for (const { name, with: values = {} } of action.runs.steps) {
      expect(JSON.stringify(values).replaceAll('proctor-report', ''), name).not.toMatch(/\.proctor|keys/);
    }
    const upload = action.runs.steps.find(({ uses }) => uses === 'actions/upload-artifact@v4');
    for (const line of upload?.with?.['path']?.trim().split('\n') ?? []) {
      expect(line).toMatch(/^\$\{\{ steps\.test\.outputs\.report \}\}\/\*\/(?:report\.html|report\.md|junit\.xml)$/);
    }
  });

  test('uploads the packs of a part, and nothing else of it', () => {
    const upload = action.runs.steps.find(({ name }) => name === 'Upload the part');
    expect(upload?.with?.['path']).toBe('${{ steps.test.outputs.report }}/*/*.tar');
    const download = action.runs.steps.find(({ name }) => name === 'Download the parts');
    expect(upload?.with?.['name']?.startsWith(download?.with?.['pattern']?.replace('*', '') ?? '-')).toBe(true);
  });

  test('documents every input and output in docs/ci.md', () => {
    const page = read('docs', 'ci.md');
    for (const name of [...Object.keys(action.inputs), ...Object.keys(action.outputs)]) {
      expect(page, name).toContain(`| \`${name}\` |`);
    }
  });
});

test('the workflow in docs/ci.md uses the action, with inputs that exist and only the permissions it needs', () => {
  const [, text = ''] = /```yaml\n(name: agent\n[\s\S]*?)```/.exec(read('docs', 'ci.md')) ?? [];
  const workflow = parse(text) as {
    permissions: unknown;
    jobs: { test: { steps: { uses: string; with?: Record<string, string> }[] } };
  };
  expect(workflow.permissions).toEqual({ contents: 'read', 'pull-requests': 'write' });
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const { steps } = workflow.jobs.test;
  expect(steps.map(({ uses }) => uses)).toEqual(['actions/checkout@v4', `OWNER/proctor@v${version}`]);
  for (const name of steps.flatMap(step => Object.keys(step.with ?? {}))) expect(action.inputs).toHaveProperty(name);
});

test('the workflow with parts in docs/ci.md runs every part, and decides in a job that needs all of them', () => {
  const [, text = ''] = /```yaml\n(name: agent in parts\n[\s\S]*?)```/.exec(read('docs', 'ci.md')) ?? [];
  type PartStep = { uses: string; with?: Record<string, unknown> };
  const { jobs } = parse(text) as {
    jobs: {
      part: { strategy: { matrix: { part: number[] } }; steps: PartStep[] };
      decide: { needs: string; steps: PartStep[] };
    };
  };
  const { part } = jobs.part.strategy.matrix;
  const used = (steps: readonly PartStep[]) => steps.find(({ uses }) => uses.startsWith('OWNER/proctor@'))?.with;
  expect(used(jobs.part.steps)).toEqual({ shard: `\${{ matrix.part }}/${part.length}` });
  expect(part).toEqual(part.map((_, at) => at + 1));
  expect(jobs.decide.needs).toBe('part');
  expect(used(jobs.decide.steps)).toEqual({ merge: true });
  for (const name of ['shard', 'merge']) expect(action.inputs).toHaveProperty(name);
});

test('the GitLab job keeps reports only, and names the files that Proctor writes', () => {
  const { proctor } = parse(read('examples', 'ci', 'gitlab.yml')) as {
    proctor: { script: string[]; artifacts: { paths: string[]; reports: Record<string, string>; when: string } };
  };
  const { paths, reports, when } = proctor.artifacts;
  expect(when).toBe('always');
  expect([...paths, ...Object.values(reports)]).toEqual([
    'proctor-report/*/report.html',
    'proctor-report/*/report.md',
    'proctor-report/*/junit.xml',
    'proctor-report/codequality.json',
  ]);
});
