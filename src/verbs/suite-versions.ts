import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { MATRIX_VERSIONS_MAX } from '../contracts/matrix.ts';

/** An agent with a model. Without one, the agent uses its default. */
export interface SuiteVersion {
  readonly agent: string;
  readonly model?: string;
}

/** `claude m1`, or `claude` for its default model. */
export function versionName({ agent, model }: SuiteVersion): string {
  return model === undefined ? agent : `${agent} ${model}`;
}

/**
 * Every agent with every model. `claude=m1` binds a model to one agent. An agent without any model uses its default.
 * Refuses duplicates and more versions than a matrix can show.
 */
export function suiteVersions(agents: readonly string[], models: readonly string[]): SuiteVersion[] {
  const asked = models.map(boundModel);
  const stray = asked.find(({ agent }) => agent !== undefined && !agents.includes(agent));
  if (stray)
    throw new Fault(
      'usage',
      `--model ${printable(`${stray.agent}=${stray.model}`)} names an agent that does not run. Add --agent ${printable(stray.agent ?? '')}.`,
    );
  const versions = agents.flatMap((agent): SuiteVersion[] => {
    const own = asked.filter(one => one.agent === undefined || one.agent === agent);
    return own.length === 0 ? [{ agent }] : own.map(({ model }) => ({ agent, model }));
  });
  const names = versions.map(versionName);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Fault('usage', `"${printable(twice)}" is named twice. Name every version once.`);
  const beyond = names.slice(MATRIX_VERSIONS_MAX).map(name => `"${printable(name)}"`);
  if (beyond.length > 0)
    throw new Fault(
      'usage',
      `A matrix has at most ${MATRIX_VERSIONS_MAX} versions, and you named ${names.length}. Leave out ${beyond.slice(0, NAMED_MAX).join(', ')}${beyond.length > NAMED_MAX ? ` and ${beyond.length - NAMED_MAX} more` : ''}.`,
    );
  return versions;
}

const NAMED_MAX = 5;

/** The name of a model never contains "=". */
function boundModel(word: string): { readonly agent: string | undefined; readonly model: string } {
  const at = word.indexOf('=');
  return at < 0 ? { agent: undefined, model: word } : { agent: word.slice(0, at), model: word.slice(at + 1) };
}
