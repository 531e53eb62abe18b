import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { Fault } from '../base/fault.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { MIB } from '../contracts/contract.ts';
import { isObject } from '../contracts/kind.ts';
import type { TargetDeclaration } from '../contracts/target/index.ts';
import { hintedMessage } from '../run/written/written-hints.ts';
import { readWritten } from '../run/written/document.ts';
import { declarationFaults } from '../targets/declaration-faults.ts';
import { examine } from '../verify/examine.ts';
import type { Options, Verdict } from '../verify/index.ts';
import { refused, unreadable } from '../verify/verdict.ts';

/** Verifies a YAML document as the equivalent JSON. Messages name the lines. */
export async function verifyYaml(input: string, cwd: string, options: Options): Promise<Verdict> {
  const { bytesMax = MIB } = options;
  const bytes = readRegular(followLink(path.resolve(cwd, input)), bytesMax);
  if (!bytes)
    return unreadable(input, 'unreadable', `The file cannot be read, or it is larger than ${bytesMax} bytes.`);
  try {
    const written = readWritten(bytes, { name: 'document', bytesMax, file: 'file', code: 'invalid_yaml' });
    return await judged(input, written, options);
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid_yaml') return refused(input, error.code, error.message);
    throw error;
  }
}

async function judged(
  input: string,
  { value, lineOf }: ReturnType<typeof readWritten>,
  options: Options,
): Promise<Verdict> {
  const as = options.as ?? (isTarget(value) ? 'target' : undefined);
  // `run suite` refuses unknown keys in target files, so they are never mere advice.
  const strict = options.strict === true || as === 'target';
  const origin = { input, fileName: path.basename(input) };
  const asked = { ...options, strict, ...(as !== undefined && { as }) };
  const { verdict } = await examine(Buffer.from(canonicalize(value)), origin, asked);
  const further =
    verdict.outcome === 'valid' && verdict.contract === 'target'
      ? Array.from(declarationFaults(value as TargetDeclaration), fault => ({ rule_id: 'TG1', ...fault }))
      : [];
  const violations = [...verdict.violations, ...further].map(({ rule_id, path: place = '', message }) => ({
    rule_id,
    message: `line ${lineOf(place)}: ${hintedMessage(message, place, value)}`,
    path: place,
  }));
  if (further.length === 0) return { ...verdict, violations };
  return { ...verdict, outcome: 'invalid', hash: undefined, violations };
}

/** A target file may omit its version, so its kind identifies it. */
function isTarget(value: unknown): boolean {
  if (!isObject(value) || Object.hasOwn(value, 'schema_version')) return false;
  return typeof value['kind'] === 'string' && ['url', 'run', 'module'].some(key => Object.hasOwn(value, key));
}
