import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { PageCase, PageCommands, PageHead, PageTrialDocument } from '../../src/reports/page-data.ts';
import { readCaseArtifact } from '../../src/evidence/suite/suite-folder.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { commandsFor } from '../../src/verbs/report-commands.ts';
import { type ComparisonSubject, htmlOf } from '../../src/verbs/report-html.ts';
import { runSuite } from '../../src/verbs/run-suite.ts';
import { testProject } from '../../src/verbs/test/test-project.ts';
import { PROJECT, projectFolder, WORSE } from './test/world.ts';

afterAll(closeLauncher);

const environment = { PATH: process.env['PATH'] };
const lines = ({ list }: PageCommands): string[] =>
  list.map(({ words }) => words.map(word => (typeof word === 'string' ? word : `<${word.put}>`)).join(' '));

const dataIn = (file: string, id: string): unknown => embeddedIn(readFileSync(file, 'utf8'), id);

function embeddedIn(page: string, id: string): unknown {
  const start = `<script type="application/json" id="${id}">`;
  const from = page.indexOf(start) + start.length;
  return JSON.parse(page.slice(from, page.indexOf('</script', from)));
}

describe('the commands of a report', () => {
  test('name the suite and the target of the project', async () => {
    const cwd = projectFolder();
    const { suites } = await testProject({ cwd, environment });
    const { commands } = dataIn(suites[0]?.reports.html ?? '', 'head') as PageHead;
    expect(lines(commands as PageCommands)).toEqual([
      'proctor test desk --only <case>',
      'proctor resend <new> <case> --target desk',
      'proctor try desk <question>',
      'proctor show <new>',
      'proctor show <baseline>',
    ]);
    expect(commands).toMatchObject({ notes: [], away: [] });
  });

  test('leave out what is not in the folder, and say so', async () => {
    const cwd = projectFolder();
    const { runs } = await runSuite({ cases: 'proctor/cases.yaml', target: 'desk', as: 'new', environment, cwd });
    const folder = runs[0]?.place.folder ?? '';
    writeFileSync(path.join(cwd, 'proctor.yaml'), 'not a project');
    const { list, notes } = commandsFor(cwd, folder, []);
    expect(list.map(({ words }) => words[1])).toEqual(['show', 'show']);
    expect(notes.join(' ')).toContain('proctor run suite with --only');
    const elsewhere = commandsFor(projectFolder(), folder, ['suite_1', 'suite_1']);
    expect(elsewhere.notes.join(' ')).toContain('in another folder');
    expect(elsewhere.away).toEqual(['suite_1']);
  });

  test('run a script again by its file, without a project file', async () => {
    const cwd = projectFolder();
    writeFileSync(path.join(cwd, 'proctor.yaml'), PROJECT.replaceAll('desk', 'other'));
    const { runs } = await runSuite({
      cases: 'proctor/cases.yaml',
      script: 'desk-script.mjs',
      as: 'new',
      environment,
      cwd,
    });
    expect(lines(commandsFor(cwd, runs[0]?.place.folder ?? '', [])).slice(0, 2)).toEqual([
      'proctor run suite proctor/cases.yaml --script desk-script.mjs --as new --only <case>',
      'proctor resend <new> <case> --script desk-script.mjs',
    ]);
  });
});

test('a report of a comparison shows the baseline’s version of a changed case, from the accepted pack', async () => {
  const cwd = projectFolder();
  await testProject({ cwd, environment, accept: true });
  const cases = path.join(cwd, 'proctor', 'cases.yaml');
  writeFileSync(cases, readFileSync(cases, 'utf8').replace('Can I return it?', 'May I return it?'));
  const { suites } = await testProject({ cwd, environment });
  const one = dataIn(suites[0]?.reports.html ?? '', 'case-0') as PageCase;
  expect(one.input).toEqual({ user: 'May I return it?' });
  expect(one.was).toEqual({ input: { user: 'Can I return it?' }, expected: { must_include: ['30 days'] } });
});

test('a report opens the trial of the run that it names, if an earlier rerun skipped the case', async () => {
  const cwd = projectFolder(PROJECT.replace('{ limits: { max_failing: 0 } }', '{ again: { max_trials: 3 } }'));
  await testProject({ cwd, environment, accept: true });
  writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
  const { suites } = await testProject({ cwd, environment });
  const subject = suites[0]?.subject as ComparisonSubject;
  const { comparison, folders } = subject;
  const cases = comparison.cases.map(one =>
    one.case_id === 'returns' ? { ...one, new: { trials: one.new.trials.filter((_, at) => at !== 1) } } : one,
  );
  const page = [...htmlOf({ ...subject, comparison: { ...comparison, cases } })].join('');
  const read = embeddedIn(page, 'case-0-new-2') as PageTrialDocument;
  const third = readCaseArtifact(folders.new[2] ?? '', 'returns');
  expect(read.attempts).toEqual(third?.attempts);
});
