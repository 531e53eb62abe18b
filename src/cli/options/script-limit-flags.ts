import type { Command } from 'commander';
import { limitHelp, SCRIPT_LIMIT_NAMES, SCRIPT_LIMITS, type ScriptLimitValues } from '../../contracts/script-limits.ts';
import { cpus, size, timeout, wholeNumber } from '../text/units.ts';

/** Adds a flag for every limit of a script run. */
export function addScriptLimitFlags(command: Command): Command {
  for (const limit of SCRIPT_LIMIT_NAMES) {
    const { flag } = SCRIPT_LIMITS[limit];
    const [, takes = ''] = /<(\w+)>/.exec(flag) ?? [];
    command.option(flag, limitHelp(limit), PARSERS[takes as keyof typeof PARSERS]);
  }
  return command;
}

const PARSERS = { time: timeout, size, count: wholeNumber, seconds: wholeNumber, number: cpus } as const;

/** The limits among the flags of a command. */
export function scriptLimitsFrom(flags: object): ScriptLimitValues {
  const given = new Map<string, unknown>(Object.entries(flags));
  const named = SCRIPT_LIMIT_NAMES.map(limit => [limit, given.get(attributeOf(SCRIPT_LIMITS[limit].flag))]);
  return Object.fromEntries(named.filter(([, value]) => value !== undefined)) as ScriptLimitValues;
}

/** `--max-files <count>` becomes `maxFiles`, as in commander. */
function attributeOf(flag: string): string {
  return flag.replace(/^--| .*$/g, '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
