import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runner } from '../../src/contracts/runner/index.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

/** Runs the command line and returns its peak memory above that of an idle Node. */
function measured(args: readonly string[], cwd: string): { code: number | null; stdout: string; overMb: number } {
  const preload = `data:text/javascript,process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS+' '))`;
  const peak = (words: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', preload, ...words], {
      cwd,
      encoding: 'utf8',
      timeout: 300_000,
      maxBuffer: 2 ** 28,
    });
    return { code: status, stdout, mb: Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024 };
  };
  const { code, stdout, mb } = peak([path.join(ROOT, 'dist', 'proctor.js'), ...args]);
  return { code, stdout, overMb: mb - peak(['-e', '0']).mb };
}

function write(cwd: string, name: string, chunks: Iterable<string>): void {
  const fd = openSync(path.join(cwd, name), 'w');
  for (const chunk of chunks) writeSync(fd, chunk);
  closeSync(fd);
}

function* repeated(text: string, times: number): Generator<string> {
  const many = text.repeat(1_000);
  for (let index = 0; index < times; index += 1_000) yield many;
}

test('refuses fifty megabytes in one string at the first bytes over the limit', () => {
  const cwd = temporaryFolder();
  write(cwd, 'string.json', ['{"runner_schema_version":"1.0.0","x":"', ...repeated('x'.repeat(50), 1_000_000), '"}']);
  const { code, stdout, overMb } = measured(['verify', 'string.json'], cwd);
  expect(code).toBe(2);
  expect(stdout).toContain('exceeds its limit');
  expect(overMb).toBeLessThan(40);
});

test('refuses ten million elements, even with a raised limit', () => {
  const cwd = temporaryFolder();
  write(cwd, 'elements.json', ['{"runner_schema_version":"1.0.0","warnings":[', ...repeated('0,', 10_000_000), '0]}']);
  expect(measured(['verify', 'elements.json'], cwd)).toMatchObject({ code: 2 });
  const raised = measured(['verify', '--max-bytes', '64m', 'elements.json'], cwd);
  expect(raised.code).toBe(2);
  expect(raised.stdout).toContain('values');
  expect(raised.overMb).toBeLessThan(200);
});

test('counts a million broken entries in bounded memory', () => {
  const cwd = temporaryFolder();
  const entries = `[${'7,'.repeat(1_000_000)}7]`;
  writeFileSync(
    path.join(cwd, 'broken.json'),
    JSON.stringify(runner.example).replace('["build","dist","out","tmp"]', entries),
  );
  const { code, stdout, overMb } = measured(['verify', '--json', '--max-bytes', '32m', 'broken.json'], cwd);
  expect(code).toBe(3);
  const [verdict] = (JSON.parse(stdout) as { inputs: { violations: unknown[]; omitted: number }[] }).inputs;
  expect(verdict).toMatchObject({ omitted: 999_001 });
  expect(overMb).toBeLessThan(1_500);
});

test('skips an NDJSON line of two hundred megabytes in constant memory', () => {
  const cwd = temporaryFolder();
  write(cwd, 'line.ndjson', [
    `${JSON.stringify(runner.example)}\n`,
    ...repeated('x'.repeat(200), 1_000_000),
    `\n${JSON.stringify(runner.example).replace('abc123', 'abc124')}\n`,
  ]);
  const { code, stdout, overMb } = measured(['verify', 'line.ndjson'], cwd);
  expect(code).toBe(2);
  expect(stdout).toContain('2 valid, 1 refused (2 runner)');
  expect(overMb).toBeLessThan(100);
});

test('judges ten thousand cases in one folder', () => {
  const cwd = temporaryFolder();
  const ids = Array.from({ length: 10_000 }, (_, index) => `case-${index}`);
  writeFileSync(
    path.join(cwd, 'run.json'),
    JSON.stringify({
      schema_version: 'run.v1',
      run_id: 'r1',
      version: 'new',
      generated_at: '2026-01-06T12:00:00Z',
      base_url: 'http://127.0.0.1:1',
      cases_path: 'cases.json',
      out_dir: 'runs',
      selected_case_ids: ids,
      runner_version: '1.0.0',
    }),
  );
  for (const id of ids) {
    writeFileSync(
      path.join(cwd, `${id}.json`),
      JSON.stringify({
        schema_version: 'case.v1',
        case_id: id,
        version: 'new',
        status: 'ok',
        proposed_actions: [],
        events: [],
        final_output: { content_type: 'text', content: 'x'.repeat(2_000) },
      }),
    );
  }
  const { code, stdout, overMb } = measured(['verify', '.'], cwd);
  expect(stdout).toContain('all 10,001 valid (10,000 case, 1 run)');
  expect(code).toBe(0);
  expect(overMb).toBeLessThan(200);
});
