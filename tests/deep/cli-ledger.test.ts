import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { addRun, homeWithRuns, ledgerIn, linesIn, runId, writeLines } from '../evidence/ledger/ledger-world.ts';
import { type Place, place } from '../support/runs.ts';
import { proctor, proveJournal } from '../support/support.ts';

const OK = 'import proctor_tool\nproctor_tool.succeed()\n';
const FAILS = 'import sys\nsys.exit(3)\n';
const AGENT = `import json
question = json.load(open("input/case.json"))
print(json.dumps({"case_id": question["case_id"], "version": question["version"], "final_output": {"content_type": "text", "content": "yes"}}))
`;
const CASES = [
  '{"id":"one","input":{"user":"Is it?"},"expected":{"contains":["yes"]}}',
  '{"id":"two","input":{"user":"And now?"}}',
];

function furnished(): { here: Place; home: string; script: () => string } {
  const here = place();
  here.file('ok.py', OK);
  here.file('fails.py', FAILS);
  here.file('agent.py', AGENT);
  here.file('cases.jsonl', `${CASES.join('\n')}\n`);
  const script = (): string => {
    const { run_id } = JSON.parse(here.proctor(['run', 'script', 'ok.py', '--json']).stdout) as { run_id: string };
    return run_id;
  };
  return { here, home: path.join(here.cwd, '.proctor'), script };
}

const suite = (here: Place, ...more: string[]) =>
  here.proctor(['run', 'suite', 'cases.jsonl', '--script', 'agent.py', '--as', 'new', ...more]);

describe('the ledger of a project', () => {
  test('has a line for every script and every repetition of a suite, but not for attempts', () => {
    const { here, home, script } = furnished();
    const id = script();
    expect(here.proctor(['run', 'script', 'fails.py']).code).toBe(1);
    expect(suite(here, '--run-id', 'nightly', '--repeat', '2').code).toBe(0);
    expect(suite(here, '--run-id', 'elsewhere', '--out', 'artifacts').code).toBe(0);
    const lines = linesIn(home);
    expect(lines.map(({ kind }) => kind)).toEqual(['script', 'script', 'suite', 'suite', 'suite']);
    expect(lines[0]).toMatchObject({ run_id: id, intent: null });
    expect(lines.slice(2).map(({ run_id }) => run_id)).toEqual(['nightly', 'nightly.2', 'elsewhere']);
    for (const input of ['.proctor/ledger.ndjson', '.proctor', 'artifacts']) {
      const { code, stdout } = here.proctor(['verify', input]);
      expect(code, stdout).toBe(0);
    }
    expect(here.proctor(['recover']).stdout).toBe('All runs are finished.\n');
    expect(linesIn(home)).toEqual(lines);
  });

  test('identifies a run by name and side, and rejects a duplicate', () => {
    const { here, home } = furnished();
    const named = (side: string, ...more: string[]) =>
      here.proctor([
        ...['run', 'suite', 'cases.jsonl', '--script', 'agent.py', '--as', side, '--run-id', 'nightly'],
        ...more,
      ]);
    expect(named('baseline').code).toBe(0);
    expect(named('new').code).toBe(0);
    expect(named('new')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('A run called nightly already exists'),
    });
    const before = linesIn(home);
    expect(named('new', '--out', 'artifacts')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('another run had the same name'),
    });
    expect(linesIn(home)).toEqual(before);
    rmSync(path.join(home, 'runs', 'new', 'nightly'), { recursive: true });
    expect(named('new')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The ledger already has a run named nightly'),
    });
    expect(here.proctor(['verify', '.proctor']).code).toBe(0);
  });

  test('keeps the lines of pruned runs', async () => {
    const home = await homeWithRuns(2);
    const here = { cwd: path.dirname(home) };
    const before = linesIn(home);
    expect(proctor(['prune', '--older-than', '0s'], here).stdout).toMatch(/2 runs removed/);
    await addRun(home, 2);
    expect(linesIn(home).slice(0, 2)).toEqual(before);
    expect(linesIn(home).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(proctor(['verify', '.proctor'], here).code).toBe(0);
  });

  test('that cannot be written leaves runs valid with a warning, and gets their lines later', () => {
    const { here, home } = furnished();
    mkdirSync(ledgerIn(home), { recursive: true });
    const script = here.proctor(['run', 'script', 'ok.py']);
    expect(script).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/warning: ledger_line_missing: script_\S+ is sealed/),
    });
    expect(suite(here)).toMatchObject({ code: 0, stderr: expect.stringMatching(/The next run adds it/) });
    expect(here.proctor(['recover']).stdout).toMatch(/^ledger\.ndjson {2}is unchanged: /);
    rmdirSync(ledgerIn(home));
    expect(here.proctor(['recover']).stdout).toMatch(/^(?:\S+ {2}had no ledger line; added it\n){2}$/);
    expect(linesIn(home).map(({ kind }) => kind)).toEqual(['script', 'suite']);
    expect(here.proctor(['verify', '.proctor']).code).toBe(0);
  });

  test('gets a missing line from the next run', () => {
    const { here, home } = furnished();
    mkdirSync(ledgerIn(home), { recursive: true });
    const first = here.proctor(['run', 'script', 'ok.py', '--json']);
    rmdirSync(ledgerIn(home));
    const second = here.proctor(['run', 'script', 'ok.py', '--json']);
    expect(second.stderr).toBe('');
    const ids = [first, second].map(({ stdout }) => (JSON.parse(stdout) as { run_id: string }).run_id);
    expect(linesIn(home).map(({ run_id }) => run_id)).toEqual(ids);
    expect(here.proctor(['run', 'script', 'ok.py']).code).toBe(0);
    expect(linesIn(home)).toHaveLength(3);
    expect(here.proctor(['verify', '.proctor']).code).toBe(0);
  });

  test('is completed by recover after a kill before or within a line', async () => {
    const home = await homeWithRuns(2);
    const here = { cwd: path.dirname(home) };
    const [first = '', second = ''] = readFileSync(ledgerIn(home), 'utf8').split('\n');
    const journal = path.join(home, 'runs', 'script', runId(1), 'journal.ndjson');
    for (const torn of ['', second.slice(0, 100)]) {
      writeLines(home, [first]);
      appendFileSync(ledgerIn(home), torn);
      writeFileSync(journal, '{"is":"left"}\n', { mode: 0o600 });
      proveJournal(path.dirname(journal));
      expect(proctor(['recover'], here).stdout).toContain(`${runId(1)}  was already finished`);
      expect(existsSync(journal)).toBe(false);
      expect(readFileSync(ledgerIn(home), 'utf8')).toBe(`${first}\n${second}\n`);
    }
    expect(proctor(['verify', '.proctor'], here).code).toBe(0);
  });

  test('is reported with its invalid line', async () => {
    const home = await homeWithRuns(3);
    const here = { cwd: path.dirname(home) };
    const lines = readFileSync(ledgerIn(home), 'utf8').split('\n').slice(0, -1);
    writeLines(home, lines.toSpliced(1, 1));
    const { code, stdout } = proctor(['verify', '.proctor/ledger.ndjson'], here);
    expect(code).toBe(3);
    expect(stdout).toMatch(/ledger\.ndjson:2/);
    expect(stdout).toMatch(/LD5\s+sequence must be 2: lines are missing, duplicated or reordered\./);
    expect(stdout).toMatch(/LD9\s+runs\/script\/\S+ is sealed but has no line in the ledger/);
    expect(proctor(['explain', 'LD5', 'LD9']).stdout).toMatch(/Sequence Without Gap[^]*No Run Missing/);
  });
});
