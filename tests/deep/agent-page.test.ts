import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outcomeExample } from '../../src/contracts/agent-step/outcome-example.ts';
import { agentPage, type AgentPageInput } from '../../src/reports/pages/agent-page.ts';
import { checkResult, type CheckResult } from '../../src/contracts/check-result/index.ts';
import { htmlPage } from '../../src/reports/pages/html-page.ts';
import { HOSTILE, linesFrom, manyCalls, pageInput } from '../reports/pages/agent-page-world.ts';
import { launch, opened, overflow, PHONE, pictured, findings, written, pageFindings } from '../reports/browser.ts';
import { AgentWorld, placePrograms } from '../run/agent/world.ts';
import { until } from '../support/runs.ts';

placePrograms();

let browser: Browser;
let pages = '';

beforeAll(async () => {
  browser = await launch();
  pages = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
});
afterAll(async () => {
  await browser.close();
  rmSync(pages, { recursive: true, force: true });
});

/** The page of a real run, as `proctor view` writes it. The first test that needs it makes it. */
function real(): string {
  const file = path.join(pages, 'real.html');
  if (!existsSync(file)) writeRealPage(file);
  return file;
}

/** A run with 10,000 calls, hostile text in every field, and a large diff. */
function hostile(): string {
  const file = path.join(pages, 'hostile.html');
  if (existsSync(file)) return file;
  return written(pages, 'hostile', htmlPage(agentPage(hostileInput(path.join(pages, 'run')))));
}

const sh = (command: string): string => `DO=sh:${Buffer.from(command).toString('hex')}`;

/** Runs the stand-in for Claude: a change that runs automatically, a denial, a failed command and a doubtful claim. */
function writeRealPage(file: string): void {
  const world = new AgentWorld({ 'README.md': 'A project.\n', 'src/sum.ts': 'export const sum = (a, b) => a + b;\n' });
  const task = [
    sh('ls'),
    'DO=say',
    sh(String.raw`printf '// Adds.\nexport const total = (all: number[]) => all.length;\n' > src/total.ts`),
    'DO=deny DO=failed_command',
    sh('mkdir -p .github/workflows; echo "on: push" > .github/workflows/ci.yml; sed -i s/a.+.b/b+a/ src/sum.ts'),
    'DO=retry:3 DO=claim_tests',
  ].join(' ');
  const { answer } = world.run('claude', task);
  const { code, stdout, stderr } = world.tried(['view', String(answer['run_id']), '--no-open', '--json']);
  expect(code, stderr).toBe(0);
  cpSync(path.join(world.place.cwd, (JSON.parse(stdout) as { report: string }).report), file);
}

function hostileInput(folder: string): AgentPageInput {
  const lines = Array.from(
    { length: 700 },
    (_, index) => `+const v${index} = "${'<b>x</b> \u202e'.repeat(4)}"; // ${index}`,
  );
  const diff = `diff --git a/evil.ts b/evil.ts\n--- a/evil.ts\n+++ b/evil.ts\n@@ -1,0 +1,${lines.length + 1} @@\n${lines.join('\n')}\n+${'y'.repeat(1024 * 1024)}\n`;
  const { workspace, policy } = pageInput(folder);
  const listed = [{ path: 'evil.ts', change: 'update', bytes: 1, mode: '100644' }] as const;
  return pageInput(
    folder,
    {
      finalText: HOSTILE,
      request: { rendered_task_text: `${HOSTILE}\n`.repeat(200) } as AgentPageInput['request'],
      outcome: { ...outcomeExample, agent: { ...outcomeExample.agent, version: HOSTILE, model: HOSTILE } },
      policy: { ...(policy as NonNullable<typeof policy>), enforcement_notes: [HOSTILE] },
      workspace: { ...(workspace as NonNullable<typeof workspace>), changed: { total: 1, listed: [...listed] } },
      needsReview: { total: 1, listed: [{ path: HOSTILE, reason: HOSTILE }] },
      checks: [hostileCheck(folder)],
      lines: linesFrom([
        { kind: 'message', role: 'assistant', body: { text: HOSTILE } },
        { kind: 'tool_call', call: 'x', tool: HOSTILE, input: { text: HOSTILE }, command: { text: HOSTILE } },
        { kind: 'denial', call: 'x', tool: HOSTILE, reason: HOSTILE },
        ...manyCalls(10_000, 'z'.repeat(2_000)),
      ]),
    },
    diff,
  );
}

function hostileCheck(folder: string): CheckResult {
  const at = path.join(folder, 'evidence/steps/check-unit');
  mkdirSync(at, { recursive: true });
  writeFileSync(path.join(at, 'stdout.txt'), `${HOSTILE}\n`.repeat(5_000));
  writeFileSync(path.join(at, 'restored.diff'), `diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+${HOSTILE}\n`);
  const files = { total: 2_000, listed: [{ path: HOSTILE, change: 'changed', because: 'test_file' } as const] };
  const tests = {
    total: 900,
    passed: 0,
    failed: 900,
    skipped: 0,
    failures: Array.from({ length: 100 }, () => HOSTILE),
  };
  return {
    ...(checkResult.example as CheckResult),
    command: `${HOSTILE}\n`.repeat(100),
    message: HOSTILE,
    tests,
    restored: files,
    kept: files,
    keep: [HOSTILE],
    second_look: { verdict: 'failed', reason: 'tests_failed', message: HOSTILE, exit_code: 1, tests: null },
  };
}

/** A run with a passing and a failing check, a restored and a kept file, a mount and a commit. */
function checkedPage(): string {
  const file = path.join(pages, 'checked.html');
  const world = new AgentWorld({
    'README.md': 'A project.\n',
    Makefile: 'all:\n',
    'tests/a.test.js': 'process.exit(1);\n',
  });
  world.place.file('data/x.txt', 'x\n');
  world.place.file(
    'checks.yaml',
    'checks:\n  - name: fine\n    command: make all\n    keep: [Makefile]\n  - name: unit\n    command: echo seen; cat /agent/mounts/data/x.txt; node tests/a.test.js\n',
  );
  const task = sh(
    String.raw`echo > tests/a.test.js; printf 'all:\n\ttrue\n' > Makefile; git commit -qam "tidy <b>up</b>"`,
  );
  const flags = ['--checks', 'checks.yaml', '--mount', path.join(world.place.cwd, 'data')];
  const { answer } = world.run('claude', task, flags);
  const { code, stdout, stderr } = world.tried(['view', String(answer['run_id']), '--no-open', '--json']);
  expect(code, stderr).toBe(0);
  cpSync(path.join(world.place.cwd, (JSON.parse(stdout) as { report: string }).report), file);
  return file;
}

describe('the page of an agent run', () => {
  test('shows checks with verdicts, files and output, mounts and commits, and is accessible', async () => {
    const file = checkedPage();
    for (const [device, scheme] of [
      [{}, 'light'],
      [PHONE, 'dark'],
    ] as const) {
      const { page, complaints } = await opened(browser, file, '', { ...device, colorScheme: scheme });
      expect(await page.locator('.word').innerText()).toContain('Completed, but a check fails');
      expect(await page.locator('h1').innerText()).toContain('1 of 2 checks passes; unit exited with code 1.');
      const checks = page.locator('#checks');
      expect(await checks.locator('h3').allInnerTexts()).toEqual([
        expect.stringMatching(/fine\s+passed/),
        expect.stringMatching(/unit\s+failed/),
      ]);
      expect(await checks.innerText()).toMatch(
        /Kept, because the check allows it[\s\S]*Makefile[\s\S]*Put back[\s\S]*tests\/a\.test\.js/,
      );
      expect(await page.locator('#review').innerText()).toContain('--allow-failed-checks');
      await checks.locator('.more > summary').evaluateAll(all => all.forEach(one => (one as HTMLElement).click()));
      await expect.poll(() => checks.innerText()).toContain('seen');
      expect(await checks.innerText()).toContain('process.exit(1);');
      expect(await page.locator('#evidence').innerText()).toContain('agent/mounts/data');
      expect(await page.locator('.commits').innerText()).toContain('tidy <b>up</b>');
      expect(await findings(page)).toEqual([]);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
      await pictured(page, `agent-checks-${scheme}`);
      expect(complaints).toEqual([]);
      await page.context().close();
    }
  });

  test('has its sections in order, makes no request, and breaks no rule of its policy', async () => {
    const { page, complaints, asked } = await opened(browser, real());
    expect(await page.locator('.word').innerText()).toContain('Completed, with policy violations');
    expect(await page.locator('h1').innerText()).toContain('It changed 3 files');
    expect(await page.locator('main h2').allInnerTexts()).toMatchObject(
      ['Before', 'Summary', 'Timeline', 'Transcript', 'Changes', 'Policy', 'Cost', 'Claims', 'Evidence'].map(title =>
        expect.stringMatching(new RegExp(`^${title}`)),
      ),
    );
    expect(await page.locator('#review').innerText()).toContain('.github/workflows/ci.yml');
    expect(await page.locator('#review .copyable code').allInnerTexts()).toContainEqual(
      expect.stringMatching(/^proctor apply agent_\w+ --allow-active \.github\/workflows\/ci\.yml$/),
    );
    expect(await page.locator('#policy').innerText()).toContain('Passed: A connection');
    expect(await page.locator('#claims').innerText()).toContain('denied_then_success');
    expect(await page.locator('#evidence').innerText()).toContain('verifies: every file matches');
    expect(await page.locator('#usage .turns tbody tr').count()).toBe(7);
    await pictured(page, 'agent-page');
    expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
    await page.context().close();
  });

  test('leads from the timeline to the transcript, by mouse and by keyboard', async () => {
    const { page } = await opened(browser, real());
    await page.locator('.bar-mark.denied').first().click();
    expect(new URL(page.url()).hash).toMatch(/^#line=\d+$/);
    const chosen = page.locator('.entry[data-chosen="true"]');
    expect(await chosen.innerText()).toMatch(/Write[\s\S]*Denied: Permission to use Write has been denied/);
    await expect.poll(() => inView(page, '.entry[data-chosen="true"]')).toBe(true);
    const slider = page.getByRole('slider');
    await slider.focus();
    await page.keyboard.press('Home');
    const first = await slider.getAttribute('aria-valuetext');
    await page.keyboard.press('ArrowRight');
    expect(await slider.getAttribute('aria-valuetext')).not.toBe(first);
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    expect(await slider.getAttribute('aria-valuenow')).toBe(await slider.getAttribute('aria-valuemax'));
    await expect.poll(() => inView(page, '.entry[data-chosen="true"]')).toBe(true);
    await page.goBack();
    expect(await chosen.innerText()).toContain('Write');
    await page.context().close();
  });

  test('shows a call with its result in one row, finds words, and opens at an address', async () => {
    const { page } = await opened(browser, real(), '#line=10');
    const chosen = page.locator('.entry[data-chosen="true"]');
    expect(await chosen.innerText()).toMatch(/npm test[\s\S]*failed[\s\S]*1 test failed/);
    await page.getByRole('searchbox').fill('denied write');
    await expect.poll(() => page.locator('.entry').count()).toBe(1);
    expect(await page.locator('.transcript-tools [role="status"]').innerText()).toMatch(/^1 of \d+ entries$/);
    expect(new URL(page.url()).hash).toBe('#q=denied+write');
    await page.context().close();
  });

  test('colours the changes, in one column or side by side', async () => {
    const { page } = await opened(browser, real());
    const file = page.locator('.diff-file', { hasText: 'src/total.ts' });
    expect(await file.locator('.tok-comment').innerText()).toBe('// Adds.');
    expect(await file.locator('.tok-keyword').allInnerTexts()).toContain('const');
    await page.getByRole('link', { name: 'Show side by side' }).click();
    await page.locator('.patch.split').first().waitFor();
    const split = page.locator('.diff-file', { hasText: 'src/sum.ts' }).locator('tr', { hasText: '1' }).last();
    expect(await split.locator('[data-sign="-"]').count()).toBeGreaterThan(0);
    expect(await split.locator('[data-sign="+"]').count()).toBeGreaterThan(0);
    expect(new URL(page.url()).hash).toBe('#diff=split');
    await page.context().close();
  });

  test('shows hostile text of every field as text', async () => {
    const { page, complaints, asked } = await opened(browser, hostile());
    await page.locator('.entry', { hasText: 'Denied' }).first().locator('summary').first().click();
    await page.locator('#changes .diff-file summary').first().click();
    await page.locator('#checks .more > summary').evaluateAll(all => all.forEach(one => (one as HTMLElement).click()));
    await page.locator('#checks pre.long').first().waitFor();
    expect(await page.title()).not.toContain('owned');
    expect(await page.locator('main img, main b, main script').count()).toBe(0);
    expect(await page.locator('main').innerText()).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b]/);
    expect(await page.locator('.hidden-character', { hasText: 'U+202E' }).count()).toBeGreaterThan(5);
    expect({ complaints, asked }).toEqual({ complaints: [], asked: [] });
    await page.context().close();
  });

  test('keeps the first and the last of 10,000 calls, and says what it leaves out', async () => {
    const { page } = await opened(browser, hostile());
    expect(await page.locator('.gap-row').innerText()).toMatch(
      /^8,002 entries left out here\. All of them are in evidence/,
    );
    expect(await page.locator('.entry').count()).toBe(2_000);
    expect(await page.locator('.bar-mark').count()).toBeLessThan(5_000);
    expect(await page.locator('.timeline').innerText()).toContain('8,002 entries in the middle left out.');
    await page.goto(`${page.url().split('#')[0]}#line=20003`);
    await expect.poll(() => inView(page, '.entry[data-line="20002"]')).toBe(true);
    await page.goto(`${page.url().split('#')[0]}#line=9000`);
    await expect.poll(() => page.locator('#transcript').innerText()).toContain('Line 9,000 is not on this page.');
    expect(readFileSync(hostile()).length).toBeLessThan(12_000_000);
    await page.context().close();
    const phone = await opened(browser, hostile(), '', PHONE);
    expect(await overflow(phone.page)).toBeLessThanOrEqual(0);
    await phone.page.context().close();
  });

  test.each([
    ['a desktop in the dark', { colorScheme: 'dark' }],
    ['a desktop in the light', { colorScheme: 'light' }],
    ['a phone in the dark', { ...PHONE, colorScheme: 'dark' }],
    ['a phone in the light', { ...PHONE, colorScheme: 'light' }],
  ] as const)('is accessible on %s, and not wider than its window', async (name, options) => {
    const { page } = await opened(browser, real(), '#line=8', options);
    expect(await pageFindings(page)).toEqual([]);
    await pictured(page, `agent-page-${name.replaceAll(' ', '-')}`);
    await page.context().close();
  });
});

/** Whether an element is inside the window. */
const inView = (page: Page, selector: string): Promise<boolean> =>
  page.evaluate(one => {
    const box = document.querySelector(one)?.getBoundingClientRect();
    return box !== undefined && box.bottom > 0 && box.top < innerHeight;
  }, selector);

test('writes a page for a run that was changed', async () => {
  const world = new AgentWorld();
  const { answer, folder } = world.run('codex', 'DO=write');
  cpSync(folder, path.join(pages, 'changed'), { recursive: true });
  writeFileSync(path.join(pages, 'changed', 'evidence/final-state.txt'), 'changed\n');
  const { code, stderr } = world.tried(['report', path.join(pages, 'changed'), '--out', 'page']);
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/^warning: \S+ does not match its seal\. The page shows this first\./);
  const { page } = await opened(browser, path.join(world.place.cwd, 'page/report.html'));
  expect(await page.locator('.word').innerText()).toContain('Does not verify');
  expect(await page.locator('#review').innerText()).toContain('proctor apply refuses: The run does not verify');
  expect(await page.locator('#usage').innerText()).toContain('The agent states tokens only for the whole run.');
  await page.context().close();
  // Like an attempt of a suite, which can be named only by its path.
  const attempt = `.proctor/attempts/agent/${String(answer['run_id'])}`;
  cpSync(folder, path.join(world.place.cwd, attempt), { recursive: true });
  expect(world.tried(['report', attempt, '--out', 'attempt']).code).toBe(0);
  expect(readFileSync(path.join(world.place.cwd, 'attempt/report.html'), 'utf8')).toContain(`proctor show ${attempt}`);
  const other = world.tried(['report', String(answer['run_id']), '--format', 'junit']);
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('This run has no junit report') as string });
});

test('writes a page while an agent runs, and after Proctor was killed', async () => {
  const world = new AgentWorld();
  const started = world.start('claude', 'DO=deny DO=say DO=hang');
  await until('the agent has spoken', () => {
    const [folder] = world.place.runFolders();
    const transcript = path.join(folder ?? '', 'evidence/steps/agent/transcript.ndjson');
    return existsSync(transcript) && readFileSync(transcript, 'utf8').includes('I look around first.');
  });
  const wordOf = async (): Promise<string> => {
    const { code, stderr } = world.tried(['view', 'latest', '--no-open']);
    expect(code, stderr).toBe(0);
    const [id] = world.place.runFolders().map(folder => path.basename(folder));
    const { page } = await opened(browser, path.join(world.place.cwd, '.proctor/reports', id ?? '', 'report.html'));
    expect(await page.locator('#transcript').innerText()).toContain('I look around first.');
    expect(await page.locator('#changes').innerText()).toContain('its changes are unknown');
    const word = await page.locator('.word').innerText();
    await page.context().close();
    return word;
  };
  try {
    expect(await wordOf()).toContain('Still running');
  } finally {
    started.kill('SIGKILL');
    await started.ended;
  }
  expect(await wordOf()).toContain('Interrupted');
  expect(world.tried(['recover']).code).toBe(0);
});
