/** `npm run bench:report`: writing and opening the HTML report, as ratios within one run. */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { canonicalize } from '../src/base/canonical.ts';
import type { CaseArtifact } from '../src/contracts/artifacts/index.ts';
import type { SuiteCase } from '../src/contracts/suite/index.ts';
import { htmlReport } from '../src/reports/html.ts';
import type { ReportInput } from '../src/reports/report-input.ts';
import { caseInputs, readCaseArtifact } from '../src/evidence/suite/suite-folder.ts';
import { reportWorld } from '../tests/reports/report-world.ts';
import { median } from './median.ts';
import { scrolling } from './report-frames.ts';
import { printRows, type Row } from './rows.ts';

const PAIRS = 10_000;
const ROUNDS = 9;
/** More rounds, because the empty page is quick and other programs disturb it most. */
const OPENINGS = 15;
const root = process.cwd();
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const world = reportWorld({ cases: PAIRS, regressed: 37, improved: 12, flaky: 6, missing: 9, trials: 3 });
const changed = reportWorld({ cases: PAIRS, regressed: PAIRS });
const worse = reportWorld({ cases: PAIRS, regressed: 200, trials: 3 });
for (const [name, { comparison, pairs }] of [
  ['some', world],
  ['all', changed],
] as const) {
  for (const side of ['baseline', 'new', 'assets'] as const)
    mkdirSync(path.join(folder, name, side), { recursive: true });
  const asked = comparison.cases.map(({ case_id }) => `${canonicalize(pairs(case_id).case)}\n`);
  writeFileSync(path.join(folder, name, 'assets', 'cases.ndjson'), asked.join(''));
  for (const { case_id } of comparison.cases) {
    const pair = pairs(case_id);
    for (const side of ['baseline', 'new'] as const) {
      if (pair[side]) writeFileSync(path.join(folder, name, side, `${case_id}.json`), canonicalize(pair[side]));
    }
  }
}

const rows: Row[] = [
  size(),
  generating('some', world, 1),
  generating('all', changed, 4),
  reportSize(),
  ...(await opening()),
  ...(await scrolling(folder)),
];
printRows('report', rows);

function size(): Row {
  const bytes = ['report.js', 'report.css'].reduce(
    (sum, file) => sum + statSync(path.join(root, 'dist/page', file)).size,
    0,
  );
  return {
    what: 'code and styles of the report, kB',
    ratio: bytes / 1_000,
    bound: '< 300',
    holds: bytes < 300_000,
    detail: '',
  };
}

/** The size of a report that is opened and sent around: most cases pass, and 200 do not. */
function reportSize(): Row {
  const inputs = worse.comparison.cases.map(({ case_id }) => worse.pairs(case_id).case as SuiteCase);
  const megabytes = write('report-worse', { ...worse, inputs: () => inputs }) / 1e6;
  return {
    what: 'report of 10,000 cases, 200 regressed, MB',
    ratio: megabytes,
    bound: '≤ 4',
    holds: megabytes <= 4,
    detail: '',
  };
}

/** Compares writing the report with only reading and parsing every case of both sides. */
function generating(name: 'some' | 'all', { comparison, pairs, ...rest }: ReportInput, ratioMax: number): Row {
  const cases = new Map(comparison.cases.map(({ case_id }) => [case_id, pairs(case_id).case]));
  const input: ReportInput = {
    ...rest,
    comparison,
    inputs: () => caseInputs(path.join(folder, name)),
    pairs: id => ({
      case: cases.get(id),
      baseline: readCaseArtifact(path.join(folder, name, 'baseline'), id),
      new: readCaseArtifact(path.join(folder, name, 'new'), id),
    }),
  };
  const bare = (): number => {
    let events = 0;
    for (const { case_id } of comparison.cases) {
      for (const side of ['baseline', 'new']) {
        try {
          const text = readFileSync(path.join(folder, name, side, `${case_id}.json`), 'utf8');
          events += (JSON.parse(text) as CaseArtifact).events?.length ?? 0;
        } catch {
          // A missing case has no file.
        }
      }
    }
    return events;
  };
  let bytes = 0;
  const report = (): void => {
    bytes = write(`report-${name}`, input);
  };
  const [ratio, detail] = ratioOf(report, bare);
  const what = `report of ${PAIRS.toLocaleString('en-US')} pairs, ${name === 'all' ? 'all regressed' : '64 changed'} ÷ reading and parsing them`;
  return {
    what,
    ratio,
    bound: `≤ ${ratioMax}`,
    holds: ratio <= ratioMax,
    detail: `${detail}, ${(bytes / 1e6).toFixed(1)} MB`,
  };
}

/** Compares the time from navigation to first paint and to the list with that of an empty page. */
async function opening(): Promise<Row[]> {
  writeFileSync(
    path.join(folder, 'nothing.html'),
    '<!doctype html><title>nothing</title><body><ul class="cases">nothing</ul></body>',
  );
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  const times = async (name: string): Promise<{ paint: number; list: number }> => {
    const page = await browser.newPage();
    await page.addInitScript(`
      const seen = () => document.querySelector('.case, ul.cases') ? (window.listMs = performance.now()) : requestAnimationFrame(seen);
      requestAnimationFrame(seen);`);
    await page.goto(pathToFileURL(path.join(folder, `${name}.html`)).href);
    const isThere = 'window.listMs > 0 && performance.getEntriesByName("first-contentful-paint").length > 0';
    while (!(await page.evaluate(isThere))) await page.waitForTimeout(20);
    const found = (await page.evaluate(
      '({ paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, list: window.listMs })',
    )) as { paint: number; list: number };
    await page.close();
    return found;
  };
  const all: Record<string, { paint: number; list: number }[]> = { nothing: [], 'report-some': [], 'report-all': [] };
  for (let round = 0; round < OPENINGS; round++) {
    for (const [name, list] of Object.entries(all)) list.push(await times(name));
  }
  await browser.close();
  const of = (name: string, key: 'paint' | 'list'): number => median((all[name] ?? []).map(time => time[key]));
  const row = (name: string, key: 'paint' | 'list', what: string, ratioMax?: number): Row => {
    const ratio = of(name, key) / of('nothing', key);
    return {
      what,
      ratio,
      bound: ratioMax === undefined ? '–' : `≤ ${ratioMax}`,
      holds: ratioMax === undefined || ratio <= ratioMax,
      detail: `${of(name, key).toFixed(0)} ms ÷ ${of('nothing', key).toFixed(0)} ms`,
    };
  };
  return [
    row('report-some', 'paint', 'first paint, 10,000 rows ÷ an empty page'),
    row('report-some', 'list', 'list shown, 10,000 rows ÷ an empty page', 6),
    row('report-all', 'paint', 'first paint, a full page ÷ an empty page'),
    row('report-all', 'list', 'list shown, a full page ÷ an empty page'),
  ];
}

function write(name: string, input: ReportInput): number {
  const fd = openSync(path.join(folder, `${name}.html`), 'w');
  let bytes = 0;
  for (const piece of htmlReport(input)) bytes += writeSync(fd, piece);
  closeSync(fd);
  return bytes;
}

function ratioOf(ours: () => unknown, bare: () => unknown): [number, string] {
  const measured: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++) measured.push([cpuMs(ours), cpuMs(bare)]);
  const [mine, other] = [median(measured.map(([ms]) => ms)), median(measured.map(([, ms]) => ms))];
  return [mine / other, `${mine.toFixed(0)} ms ÷ ${other.toFixed(0)} ms of CPU`];
}

function cpuMs(run: () => unknown): number {
  const start = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1_000;
}
