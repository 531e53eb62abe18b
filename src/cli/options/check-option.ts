import type { RunAgentOptions } from '../../verbs/run-agent.ts';

/** `unit=npm test` names the check `unit`. A name is lower case, unlike the variable in `NODE_ENV=test npm test`. */
export function checkOf(word: string): NonNullable<RunAgentOptions['checks']>[number] {
  const [, name, command = ''] = /^([a-z][a-z0-9-]{0,39})=(.*)$/s.exec(word) ?? [];
  return name === undefined ? { command: word } : { name, command };
}
