import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { outcomeIn, type Place, place, processesWith, until } from '../support/runs.ts';
import { proveJournal } from '../support/support.ts';

const OK = `import proctor_tool\nopen('output/a.txt', 'w').write('abc')\nproctor_tool.succeed('<p>done</p>')\n`;
const FAILS = `import proctor_tool\nproctor_tool.fail('No rows.')\n`;
const SLOW = `import time\nprint('begun', flush=True)\ntime.sleep(60)\n`;

const idOf = (folder: string): string => path.basename(folder);

describe('a project without runs', () => {
  test('says so for every command, and stays unchanged', () => {
    const here = place();
    expect(here.proctor(['list'])).toMatchObject({
      code: 0,
      stdout: 'No runs yet. Start one with proctor run script FILE, run intent FILE or run suite CASES.\n',
    });
    expect(here.proctor(['list', '--json'])).toMatchObject({ code: 0, stdout: '{"runs":[],"total":0}\n' });
    expect(here.proctor(['recover'])).toMatchObject({ code: 0, stdout: 'All runs are finished.\n' });
    expect(here.proctor(['recover', '--json'])).toMatchObject({ code: 0, stdout: '{"runs":[]}\n' });
    expect(here.proctor(['prune', '--older-than', '1d'])).toMatchObject({ code: 0, stdout: '0 runs removed.\n' });
    for (const args of [['show'], ['show', 'latest'], ['verify', 'latest']]) {
      expect(here.proctor(args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/^error: There are no runs yet/),
      });
    }
    expect(here.proctor(['show', 'nothing-like-it'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no run/),
    });
    for (const args of [
      ['prune'],
      ['prune', '--older-than', 'old'],
      ['list', '--limit', 'x'],
      ['show', '--frobnicate'],
    ]) {
      expect(here.proctor(args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^error: /) });
    }
    expect(readdirSync(here.cwd)).toEqual([]);
  });
});

describe('finished runs', () => {
  test('are shown, listed, verified and removed, by any of their names', () => {
    const here = place();
    here.file('ok.py', OK);
    here.file('fails.py', FAILS);
    expect(here.proctor(['run', 'script', 'ok.py', '--', 'one']).code).toBe(0);
    const [first = ''] = here.runFolders();
    expect(here.proctor(['run', 'script', 'fails.py']).code).toBe(1);
    const second = here.runFolders().find(folder => folder !== first) ?? '';

    expect(here.proctor(['show']).stdout).toMatch(/✗ failed {2}fails\.py\n {2}No rows\./);
    expect(here.proctor(['show', 'latest']).stdout).toContain(idOf(second));
    const whole = here.proctor(['show', idOf(first)]).stdout;
    expect(whole).toMatch(/ {4}requested nothing; all defaults\n/);
    expect(whole).toMatch(/ {4}probe {5}✓ network: A connection to a server on this machine was refused\.\n/);
    expect(whole).toMatch(/ {12}matches its seal, not signed\n$/);
    expect(whole).not.toContain('observed');
    const bySpelling = [
      idOf(first),
      idOf(first).slice(0, -3),
      idOf(first).slice(7),
      idOf(first).slice(-12),
      path.relative(here.cwd, first),
      first,
    ];
    for (const word of bySpelling)
      expect(here.proctor(['show', word]).stdout, word).toMatch(/✓ succeeded {2}ok\.py one\n/);
    expect(here.proctor(['show', 'script_'])).toMatchObject({
      code: 2,
      stderr: 'error: 2 runs match "script_". Use more of the id; `proctor list` shows all runs.\n',
    });
    expect(here.proctor(['show', here.cwd])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/This is not a script's run folder/),
    });

    const shown = JSON.parse(here.proctor(['show', idOf(first), '--json']).stdout);
    expect(shown).toMatchObject({
      kind: 'script',
      run_id: idOf(first),
      folder: path.relative(here.cwd, first),
      is_open: false,
      is_whole: true,
      request: { run_id: idOf(first), args: ['one'] },
      runner: { runner_schema_version: '1.0.0' },
      outcome: { status: 'succeeded' },
      result: { html_output: '<p>done</p>', artifacts: [{ path: 'output/a.txt', bytes: 3 }] },
    });

    const lines = here.proctor(['list']).stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(new RegExp(`^failed .* ${idOf(second)} {2}fails\\.py$`));
    expect(lines[1]).toMatch(new RegExp(`^succeeded .* ${idOf(first)} {2}ok\\.py$`));
    expect(here.proctor(['list', '--limit', '1']).stdout).toMatch(/^[^\n]+\n1 older runs; use --limit to see more\n$/);
    const list = JSON.parse(here.proctor(['list', '--json']).stdout) as { runs: object[]; total: number };
    expect(list.total).toBe(2);
    expect(list.runs).toContainEqual({
      run_id: idOf(first),
      kind: 'script',
      status: 'succeeded',
      subject: 'ok.py',
      folder: path.relative(here.cwd, first),
      started_at: expect.stringMatching(/Z$/),
      duration_ms: expect.any(Number),
    });

    for (const word of ['latest', idOf(first), idOf(first).slice(0, -3), path.relative(here.cwd, first)]) {
      expect(here.proctor(['verify', word]).code, word).toBe(0);
    }
    // A subfolder belongs to the same project.
    here.file('below/file', '');
    expect(here.proctor(['list'], { cwd: path.join(here.cwd, 'below') }).stdout).toContain(idOf(first));

    expect(here.proctor(['prune', '--older-than', '1h']).stdout).toBe('0 runs removed.\n');
    const trial = here.proctor(['prune', '--older-than', '0s', '--dry-run']).stdout;
    expect(trial).toMatch(/^(?:would remove {2}script_\w+\n){2}2 runs would be removed\.\n$/);
    expect(JSON.parse(here.proctor(['prune', '--older-than', '0s', '--dry-run', '--json']).stdout)).toEqual({
      would_remove: [idOf(first), idOf(second)],
      comparisons: [],
      reports: [],
      kept: [],
    });
    expect(here.runFolders()).toHaveLength(2);
    const pruned = here.proctor(['prune', '--older-than', '0s', '--json']).stdout;
    expect(JSON.parse(pruned)).toEqual({
      removed: [idOf(first), idOf(second)],
      comparisons: [],
      reports: [],
      kept: [],
    });
    expect(here.runFolders()).toEqual([]);
  });

  test('show operator details on request', () => {
    const here = place();
    here.file('link.py', `import os\nos.symlink('/etc/passwd', 'output/stolen')\n${OK}`);
    expect(here.proctor(['run', 'script', 'link.py']).code).toBe(1);
    const [folder = ''] = here.runFolders();
    const log = readFileSync(path.join(folder, 'evidence/internal/log.ndjson'), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { level: string; code: string; detail: string });
    const { code, detail } = log.find(({ level }) => level === 'error') ?? { code: '', detail: '' };
    expect(code).toBe('artifact_type_forbidden');
    expect(detail).toContain('output/stolen');
    const usual = here.proctor(['show']).stdout;
    expect(usual).not.toContain('stolen');
    const internal = here.proctor(['show', '--internal']).stdout;
    expect(internal).toContain(`    error     ${code}: ${detail}\n`);
    for (const line of usual.trimEnd().split('\n')) expect(internal).toContain(line);
    const asJson = (...args: string[]) => JSON.parse(here.proctor(['show', '--json', ...args]).stdout);
    expect(asJson('--internal').log).toEqual(log.map(({ level, code, detail }) => ({ level, code, detail })));
    expect(asJson()).not.toHaveProperty('log');
  });

  test('are reported as changed if they were changed later', () => {
    const here = place();
    here.file('ok.py', OK);
    expect(here.proctor(['run', 'script', 'ok.py']).code).toBe(0);
    const [folder = ''] = here.runFolders();
    writeFileSync(path.join(folder, 'output', 'a.txt'), 'abd');
    expect(here.proctor(['verify', 'latest'])).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/output\/a\.txt/),
    });
    const shown = here.proctor(['show']);
    expect(shown.code, shown.stderr).toBe(0);
    expect(shown.stdout).toMatch(/ {12}does not verify: run proctor verify for details\n$/);
    expect(shown.stdout).not.toContain('matches its seal');
    expect(JSON.parse(here.proctor(['show', '--json']).stdout)).toMatchObject({ is_open: false, is_whole: false });
    writeFileSync(path.join(folder, 'output', 'a.txt'), 'abc');
    expect(here.proctor(['show']).stdout).toMatch(/ {12}matches its seal, not signed\n$/);
    rmSync(path.join(folder, 'evidence', 'seal.json'));
    expect(here.proctor(['show']).stdout).toMatch(/does not verify: run proctor verify for details\n$/);
    expect(here.proctor(['verify', 'latest'])).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/SL5.*evidence\/seal\.json|evidence\/seal\.json.*SL5/s),
    });
    rmSync(folder, { recursive: true });
  });
});

describe('a live run', () => {
  test('is shown as running, and neither recovered nor removed', async () => {
    const here = place();
    here.file('slow.py', SLOW);
    const started = here.start(['run', 'script', 'slow.py']);
    await until('the script has begun', () => started.stdout.includes('begun'));
    const [folder = ''] = here.runFolders();
    expect(here.proctor(['show']).stdout).toContain('is still running');
    expect(here.proctor(['list']).stdout).toMatch(/^running /);
    expect(here.proctor(['recover']).stdout).toBe(`${idOf(folder)}  is still running\n`);
    expect(here.proctor(['prune', '--older-than', '0s']).stdout).toBe('0 runs removed.\n');
    expect(here.proctor(['prune', '--older-than', '0s', '--dry-run']).stdout).toBe('0 runs would be removed.\n');
    started.kill('SIGTERM');
    expect((await started.ended).code).toBe(143);
    expect(outcomeIn(folder)).toMatchObject({ status: 'failed', reason: 'cancelled' });
  });
});

describe('an interrupted run', () => {
  /** The folder of a run whose Proctor process was killed. */
  async function killed(here: Place): Promise<string> {
    const marker = `marker-${process.pid}-${idOf(here.cwd)}`;
    here.file('slow.py', SLOW);
    const started = here.start(['run', 'script', 'slow.py', '--', marker]);
    await until('the script has begun', () => started.stdout.includes('begun'));
    started.kill('SIGKILL');
    await started.ended;
    await until('its processes are gone', () => processesWith(marker).length === 0);
    const open = here.runFolders().filter(folder => existsSync(path.join(folder, 'journal.ndjson')));
    expect(open).toHaveLength(1);
    return open[0] ?? '';
  }

  test('is completed only by recover, and every command reports its state', async () => {
    const here = place();
    const folder = await killed(here);
    const before = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
    const meetings: [string[], number, RegExp][] = [
      [['show'], 0, /was interrupted; run proctor recover to complete it/],
      [['list'], 0, /^unfinished .*\n +continue with: proctor recover\n$/],
      [['verify', 'latest'], 3, /SL7 .*run proctor recover to finish it/],
      [['verify', idOf(folder)], 3, /SL7/],
    ];
    for (const [args, code, said] of meetings) {
      const ran = here.proctor(args);
      expect(ran.code, args.join(' ') + ran.stderr).toBe(code);
      expect(ran.stdout, args.join(' ')).toMatch(said);
      expect(readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort(), args.join(' ')).toEqual(before);
    }
    expect(here.proctor(['recover']).stdout).toMatch(
      /was interrupted; its run folder is complete now, and records the interruption/,
    );
    expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(false);
    expect(outcomeIn(folder)).toMatchObject({ status: 'failed', reason: 'interrupted', ending: { how: 'lost' } });
    expect(readFileSync(path.join(folder, 'evidence/steps/script/stdout.txt'), 'utf8')).toBe('begun\n');
    expect(here.proctor(['show']).stdout).toMatch(
      /unknown {3}how it ended, its resource usage, .*\n[^]*ended {5}unknown: Proctor was interrupted \(interrupted\)/,
    );
    expect(here.proctor(['list']).stdout).toMatch(/^failed .*interrupted; unknown: how it ended/);
    expect(here.proctor(['recover']).stdout).toBe('All runs are finished.\n');
  });

  test('is recovered; a sealed run keeps its seal, and a run with an unproven journal stays', async () => {
    const here = place();
    here.file('ok.py', OK);
    expect(here.proctor(['run', 'script', 'ok.py']).code).toBe(0);
    const [folder = ''] = here.runFolders();
    const seal = readFileSync(path.join(folder, 'evidence', 'seal.json'));
    const dead = await killed(here);
    const journal = readFileSync(path.join(dead, 'journal.ndjson'), 'utf8');
    writeFileSync(path.join(folder, 'journal.ndjson'), journal.replaceAll(idOf(dead), idOf(folder)), { mode: 0o600 });
    proveJournal(folder);
    const unplanned = `${dead.slice(0, -1)}${dead.endsWith('0') ? '1' : '0'}`;
    mkdirSync(path.join(unplanned, 'evidence'), { recursive: true });
    writeFileSync(path.join(unplanned, 'journal.ndjson'), journal.slice(0, 100));
    const { code, stdout } = here.proctor(['recover', '--json']);
    expect(code).toBe(0);
    const became = Object.fromEntries(
      (JSON.parse(stdout) as { runs: { run_id: string; became: string }[] }).runs.map(run => [run.run_id, run.became]),
    );
    expect(became).toEqual({ [idOf(folder)]: 'sealed', [idOf(dead)]: 'recovered', [idOf(unplanned)]: 'foreign' });
    expect(readFileSync(path.join(folder, 'evidence', 'seal.json'))).toEqual(seal);
    expect(existsSync(unplanned)).toBe(true);
    rmSync(unplanned, { recursive: true });
  });

  test('is removed like any other when it is old', async () => {
    const here = place();
    const folder = await killed(here);
    expect(here.proctor(['prune', '--older-than', '0s']).stdout).toBe(`removed  ${idOf(folder)}\n1 run removed.\n`);
    expect(here.runFolders()).toEqual([]);
  });
});

describe('doctor', () => {
  test('reports what works here, what it enforces, and how to get more', () => {
    const here = place();
    const { code, stdout } = here.proctor(['doctor']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/✓ sandbox process {2}isolation strict\n/);
    expect(stdout).toMatch(/probe {5}passed: network\./);
    expect(stdout).toMatch(/! sandbox none {2}isolates nothing\n/);
    expect(stdout).toMatch(/interpreters {2}in a sandbox: python3 ✓/);
    const told = JSON.parse(here.proctor(['doctor', '--json']).stdout);
    expect(told).toMatchObject({
      machine: { seccomp: true, missing: [] },
      sandboxes: [
        { name: 'process', works: true, isolation: 'strict' },
        { name: 'none', works: true, isolation: 'none' },
      ],
      slots: expect.any(Number),
    });
    expect(readdirSync(here.cwd)).toEqual([]);
  });

  test('lists the agents, whether Proctor supports their versions, and what is missing', () => {
    const here = place();
    for (const [folder, version] of [
      ['known', '2.1.325 (Claude Code)'],
      ['newer', '9.9.9 (Claude Code)'],
      ['older', '2.0.1 (Claude Code)'],
      ['silent', ''],
    ])
      here.file(`${folder}/claude`, `#!/bin/sh\necho '${version}'\n`, 0o755);
    here.file('broken/claude', '#!/bin/sh\nexit 3\n', 0o755);
    const told = (folder: string, key = ''): string =>
      here.proctor(['doctor'], {
        env: { PATH: `${path.join(here.cwd, folder)}:/usr/bin:/bin`, ANTHROPIC_API_KEY: key, OPENAI_API_KEY: '' },
      }).stdout;
    expect(told('known', 'a-key-of-mine')).toContain(
      '✓ agent claude  2.1.325, supported; ANTHROPIC_API_KEY is set\n– agent codex  is not on the PATH\n    to do     Install it: npm install --global @openai/codex@0.166\n',
    );
    expect(told('known')).toContain(
      'supported; ANTHROPIC_API_KEY is not set\n    to do     Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN',
    );
    expect(told('known', 'a-key-of-mine')).not.toContain('a-key-of-mine');
    expect(told('newer')).toMatch(
      /✓ agent claude {2}9\.9\.9, supported; .*\n {4}to do {5}It is newer than 2\.1\.325, the newest tested version\./,
    );
    expect(told('older')).toMatch(
      /✗ agent claude {2}2\.0\.1, not supported; .*\n {4}to do {5}Supported versions are 2\.1\.190 to/,
    );
    expect(told('silent')).toContain('✗ agent claude  does not report its version\n');
    expect(told('broken')).toContain('✗ agent claude  cannot report its version: Cannot read the version of claude');
    const { agents } = JSON.parse(here.proctor(['doctor', '--json'], { env: { PATH: '/nowhere' } }).stdout);
    expect(agents).toMatchObject([
      { agent: 'claude', found: false, version: null, understood: false, key: { variable: 'ANTHROPIC_API_KEY' } },
      { agent: 'codex', found: false },
    ]);
  });

  test('shows a user without control groups what is missing', () => {
    const here = place();
    chmodSync(here.cwd, 0o777);
    const { code, stdout } = here.proctor(['doctor'], { uid: 65_534 });
    expect(code).toBe(0);
    expect(stdout).toMatch(/sandbox process {2}isolation standard\n/);
    expect(stdout).toMatch(/lacks {5}memory limits for a whole run, which require control groups\n/);
    expect(stdout).toMatch(/limits {4}watched: CPU time; memory, .*\n/);
    expect(stdout).toMatch(/to do {5}For strict isolation, start Proctor in its own scope/);
    const told = JSON.parse(here.proctor(['doctor', '--json'], { uid: 65_534 }).stdout);
    expect(told.sandboxes[0]).toMatchObject({ name: 'process', works: true, isolation: 'standard' });
    expect(readdirSync(here.cwd)).toEqual([]);
  });
});
