import { printable } from '../../base/printable.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import type { Paint } from './paint.ts';
import { countText } from './units.ts';

/** One line for each check, and one for the files that it needed back. */
export function checkLines(checks: readonly CheckResult[], paint: Paint): string[] {
  return checks.flatMap(({ name, verdict, message, restored, kept }) => [
    `  ${MARKS[verdict](paint)} ${name.padEnd(8)}  ${verdict.replaceAll('_', ' ')}: ${printable(message)}`,
    ...(restored.total === 0
      ? []
      : [
          `    ${paint('note', 'put back')}  ${countText(restored.total, 'file')} that the agent changed: ${namesOf(restored)}`,
        ]),
    ...(kept && kept.total > 0
      ? [`    ${paint('note', 'kept')}      ${countText(kept.total, 'file')} that the agent changed: ${namesOf(kept)}`]
      : []),
  ]);
}

/** Whether every check passed. */
export function areFine(checks: readonly CheckResult[]): boolean {
  return checks.every(({ verdict }) => verdict === 'passed');
}

const MARKS: Readonly<Record<CheckResult['verdict'], (paint: Paint) => string>> = {
  passed: paint => paint('good', '✓'),
  failed: paint => paint('bad', '✗'),
  did_not_run: paint => paint('note', '–'),
  unknown: paint => paint('note', '?'),
};

function namesOf({ total, listed }: CheckResult['restored']): string {
  const shown = listed.slice(0, NAMES_MAX).map(({ path, change }) => `${printable(path)} (${change})`);
  return `${shown.join(', ')}${total > shown.length ? ' …' : ''}`;
}

const NAMES_MAX = 3;
