/** Draws docs/gate.svg: how often the gate is right, by cases and trials, from bench/results/gate.json. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

interface Characteristic {
  readonly mode: 'balanced' | 'proven';
  readonly cases: number;
  readonly trials: number;
  readonly false_alarm: number;
  readonly clears_unchanged: number;
  readonly finds_drop_of_20: number;
  readonly clears_drop_of_20: number;
}

interface Results {
  readonly repetitions: number;
  readonly characteristics: readonly Characteristic[];
}

/** Returns the SVG text. Equal results give equal bytes. */
export function gatePicture(root: string): string {
  const file = path.join(root, 'bench', 'results', 'gate.json');
  const { repetitions, characteristics } = JSON.parse(readFileSync(file, 'utf8')) as Results;
  const panels = MODES.flatMap((mode, row) =>
    PANELS.map((panel, column) =>
      panelOf(
        panel,
        characteristics.filter(one => one.mode === mode),
        column,
        row,
      ),
    ),
  );
  const heads = PANELS.map(({ title, says }, column) => {
    const x = LEFT + column * PANEL_WIDTH;
    return `<text class="title" x="${x}" y="28">${title}</text><text class="note" x="${x}" y="46">${says}</text>`;
  });
  const modes = MODES.map(
    (mode, row) => `<text class="title" x="16" y="${TOP + row * PANEL_HEIGHT - 8}">${mode}</text>`,
  );
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="t d">`,
    '<title id="t">How often the gate is right</title>',
    `<desc id="d">${describe(characteristics)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="8"/>`,
    ...heads,
    ...modes,
    ...panels,
    `<text class="note" x="16" y="${HEIGHT - 16}">Share of ${number(repetitions)} simulated comparisons (${number(repetitions / 4)} for 1,000 cases), in percent; each cell is the worst of three kinds of suites. Rows: trials of a case on each side.</text>`,
    '</svg>',
  ].join('\n')}\n`;
}

const MODES = ['balanced', 'proven'] as const;
const CASES = [10, 30, 100, 1_000] as const;
const TRIALS = [1, 3, 5] as const;

interface Panel {
  readonly of: Exclude<keyof Characteristic, 'mode' | 'cases' | 'trials'>;
  readonly title: string;
  readonly says: string;
  /** Whether a higher value is better. */
  readonly isGood: boolean;
}

const PANELS: readonly Panel[] = [
  { of: 'false_alarm', title: 'False alarm', says: 'nothing changed, “regression”', isGood: false },
  { of: 'finds_drop_of_20', title: 'Detection', says: '20 points lost, “regression”', isGood: true },
  { of: 'clears_drop_of_20', title: 'False green', says: '20 points lost, “no regression”', isGood: false },
  { of: 'clears_unchanged', title: 'True green', says: 'nothing changed, “no regression”', isGood: true },
];

const CELL_WIDTH = 46;
const CELL_HEIGHT = 30;
const LEFT = 150;
const TOP = 92;
const PANEL_WIDTH = 4 * CELL_WIDTH + 34;
const PANEL_HEIGHT = 3 * CELL_HEIGHT + 56;
const WIDTH = LEFT + PANELS.length * PANEL_WIDTH;
const HEIGHT = TOP + MODES.length * PANEL_HEIGHT + 24;

function panelOf({ of, isGood }: Panel, all: readonly Characteristic[], column: number, row: number): string {
  const x = LEFT + column * PANEL_WIDTH;
  const y = TOP + row * PANEL_HEIGHT;
  const parts = CASES.map(
    (cases, at) => `<text class="axis" x="${x + (at + 0.5) * CELL_WIDTH}" y="${y - 8}">${number(cases)}</text>`,
  );
  if (column === 0) parts.push(`<text class="axis end" x="${x - 10}" y="${y - 8}">cases</text>`);
  for (const [down, trials] of TRIALS.entries()) {
    const top = y + down * CELL_HEIGHT;
    if (column === 0) parts.push(`<text class="axis end" x="${x - 10}" y="${top + 20}">${counted(trials)}</text>`);
    for (const [across, cases] of CASES.entries()) {
      const value = valueAt(all, of, cases, trials);
      const left = x + across * CELL_WIDTH;
      parts.push(
        `<rect class="${isGood ? 'good' : 'bad'}" style="fill-opacity:${shade(value)}" x="${left}" y="${top}" width="${CELL_WIDTH - 2}" height="${CELL_HEIGHT - 2}" rx="3"/>`,
        `<text class="value" x="${left + (CELL_WIDTH - 2) / 2}" y="${top + 19}">${percent(value)}</text>`,
      );
    }
  }
  return parts.join('\n');
}

function valueAt(all: readonly Characteristic[], of: Panel['of'], cases: number, trials: number): number {
  const found = all.find(one => one.cases === cases && one.trials === trials);
  if (!found) throw new Error(`bench/results/gate.json has no cell for ${cases} cases and ${trials} trials`);
  return found[of];
}

/** Limits the opacity, so that text stays readable on the darkest cell. */
function shade(share: number): string {
  return (0.06 + 0.5 * share).toFixed(3);
}

/** Rounds so that a rare event is not shown as 0, and 99.9 is not shown as 100. */
function percent(share: number): string {
  if (share > 0 && share < 0.001) return '&lt; 0.1';
  if (share > 0 && share < 0.1) return (100 * share).toFixed(1);
  return String(Math.floor(100 * share));
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

function counted(trials: number): string {
  return trials === 1 ? '1 trial' : `${trials} trials`;
}

function describe(all: readonly Characteristic[]): string {
  const worst = Math.max(...all.map(one => one.false_alarm));
  const at = (mode: Characteristic['mode']): string => {
    const cells = all.filter(one => one.mode === mode);
    const [detection, green] = (['finds_drop_of_20', 'clears_unchanged'] as const).map(of =>
      percent(valueAt(cells, of, 30, 3)),
    );
    return `${mode} finds a drop of 20 points in ${detection} percent and reports “no regression” for an unchanged suite in ${green} percent`;
  };
  return `False alarms are at most ${percent(worst)} percent. With 30 cases and 3 trials, ${at('balanced')}; ${at('proven')}.`;
}

const STYLE = [
  'text{font:13px system-ui,sans-serif;fill:#1f2328}',
  '.title{font-weight:600;font-size:15px}.note{font-size:12px;fill:#59636e}.axis{font-size:12px;fill:#59636e;text-anchor:middle}',
  '.axis.end{text-anchor:end}.value{text-anchor:middle;font-variant-numeric:tabular-nums}',
  '.page{fill:#ffffff}.good{fill:#1a7f37}.bad{fill:#cf222e}',
  '@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note,.axis{fill:#9198a1}.page{fill:#0d1117}.good{fill:#3fb950}.bad{fill:#f85149}}',
].join('');
