import { LIMITS, type MachineKind } from '../src/policy/limits.ts';

/** Returns docs/sandboxes.md with the table of limits from src/policy/limits.ts. */
export function withLimitsTable(page: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error('docs/sandboxes.md has no markers for the table of limits');
  return `${before}${BEGIN}\n${table()}\n${END}${after}`;
}

const BEGIN = '<!-- limits: written by npm run docs -->';
const END = '<!-- /limits -->';

const COLUMNS: Readonly<Record<MachineKind, string>> = {
  cgroup_v1: 'root, cgroup v1',
  cgroup_v2: 'delegated cgroup v2 (not tested)',
  no_groups: 'ordinary user, no control groups',
  no_sandbox: '`--sandbox none`',
};

function table(): string {
  const kinds = Object.keys(COLUMNS) as MachineKind[];
  const rows = LIMITS.map(({ limit, title, held }) => {
    const cells = kinds.map(kind => {
      const [claim, by] = held[kind];
      return `${claim.replace('_', ' ')}${by === '' ? '' : `: ${by}`}`;
    });
    return `| ${title}, \`${limit}\` | ${cells.join(' | ')} |`;
  });
  return [`| limit | ${Object.values(COLUMNS).join(' | ')} |`, `|${' --- |'.repeat(kinds.length + 1)}`, ...rows].join(
    '\n',
  );
}
