import { SCRIPT_LIMITS, type WrittenLimit } from '../src/contracts/script-limits.ts';
import { LIMITS, type MachineKind } from '../src/policy/limits.ts';

/** Returns docs/sandboxes.md with the table of limits from src/policy/limits.ts. */
export function withLimitsTable(page: string): string {
  return withTable(page, 'limits', machineTable());
}

/** Returns docs/command-line.md with the flags from src/contracts/script-limits.ts. */
export function withScriptLimits(page: string): string {
  return withTable(page, 'script limits', flagTable());
}

function withTable(page: string, name: string, table: string): string {
  const [begin, end] = [`<!-- ${name}: written by npm run docs -->`, `<!-- /${name} -->`];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`The page has no markers for the table of ${name}`);
  return `${before}${begin}\n${table}\n${end}${after}`;
}

const COLUMNS: Readonly<Record<MachineKind, string>> = {
  cgroup_v1: 'root, cgroup v1',
  cgroup_v2: 'delegated cgroup v2 (not tested)',
  no_groups: 'ordinary user, no control groups',
  no_sandbox: '`--sandbox none`',
};

function machineTable(): string {
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

function flagTable(): string {
  const rows = Object.values(SCRIPT_LIMITS).map(({ flag, help, range, default: usual = '–' }: WrittenLimit) => {
    const shown = flag.replace(/<(.*)>/, (_, takes: string) =>
      takes === 'time' || takes === 'size' ? takes.toUpperCase() : 'N',
    );
    return `| \`${shown}\` | ${help.replace(/\b(\w+\/)/g, '`$1`')} | ${range.join(' to ')} | ${usual} |`;
  });
  return ['| flag | meaning | range | default |', '|---|---|---|---|', ...rows].join('\n');
}
