import { printable, printableJson } from '../../base/printable.ts';
import { contractNames } from '../../contracts/catalogue.ts';
import { EXIT, type Outcome, type Verdict, verifyInputs } from '../../verbs/verify.ts';
import { noFormat } from './schema.ts';
import { stayYoung } from '../options/v8-heap.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { numberText } from '../text/units.ts';

interface Flags {
  readonly as?: string;
  readonly strict?: true;
  readonly internal?: true;
  readonly ndjson?: true;
  readonly maxBytes?: number;
  readonly key?: readonly string[];
  readonly revoked?: readonly string[];
  readonly requireSignature?: true;
  readonly json?: true;
}

export async function verifyCommand(
  paths: readonly string[],
  { json, maxBytes, key, revoked, ...flags }: Flags,
): Promise<number> {
  if (flags.as !== undefined && !contractNames.includes(flags.as)) {
    throw noFormat(flags.as);
  }
  const options = {
    ...flags,
    ...(maxBytes !== undefined && { bytesMax: maxBytes }),
    ...(key !== undefined && { keyFiles: key }),
    ...(revoked !== undefined && { revokedFiles: revoked }),
  };
  const print = json ? asJson() : asText(paintFor(1));
  let exit = 0;
  let count = 0;
  for await (const verdicts of verifyInputs(paths, options, process.cwd())) {
    for (const verdict of verdicts) {
      exit = Math.max(exit, EXIT[verdict.outcome]);
      print.verdict(verdict);
      if (++count === LONG) stayYoung();
    }
  }
  print.end(exit);
  return exit;
}

const LONG = 10_000;

interface Printer {
  verdict(verdict: Verdict): void;
  end(exit: number): void;
}

/** One JSON document, written as verdicts arrive, so that a million of them fit in memory. */
function asJson(): Printer {
  let separator = '{"inputs":[';
  return {
    verdict(verdict) {
      stdout.write(`${separator}${printableJson({ ok: verdict.outcome === 'valid', ...verdict })}`);
      separator = ',\n';
    },
    end: exit => stdout.write(`],"ok":${exit === 0},"exit_code":${exit}}\n`),
  };
}

/** Text for people. Shows only the invalid parts of a file or folder, at most 50. */
function asText(paint: Paint): Printer {
  const notChecked = new Set<string>();
  const notCheckedInParts = new Set<string>();
  const inputs: Partial<Record<Outcome, number>> = {};
  let partsHidden = 0;
  let partsShown = 0;
  return {
    verdict(verdict) {
      const items = verdict.within === undefined ? notChecked : notCheckedInParts;
      for (const item of verdict.not_checked) items.add(item);
      if (verdict.within !== undefined) {
        if (verdict.outcome === 'valid') return;
        if (++partsShown > PARTS_SHOWN) {
          partsHidden++;
          return;
        }
      } else {
        inputs[verdict.outcome] = (inputs[verdict.outcome] ?? 0) + 1;
      }
      stdout.write(linesFor(verdict, paint));
      if (verdict.within !== undefined) return;
      if (partsHidden > 0) stdout.write(`    ${partsHidden} more invalid parts; use --json to list all\n`);
      partsHidden = 0;
      partsShown = 0;
    },
    end() {
      const total = Object.values(inputs).reduce((sum, count) => sum + count, 0);
      const items = [...new Set([...notChecked, ...notCheckedInParts])];
      for (const item of items.slice(0, NOT_CHECKED_SHOWN))
        stdout.write(`${paint('faint', `  not checked: ${printable(item)}`)}\n`);
      const more = items.length - NOT_CHECKED_SHOWN;
      if (more > 0) stdout.write(`${paint('faint', `  not checked: ${more} more; use --json to list all`)}\n`);
      if (total > 1) stdout.write(`${paint('strong', `${total} inputs`)}: ${counted(inputs)}\n`);
    },
  };
}

const PARTS_SHOWN = 50;
const NOT_CHECKED_SHOWN = 4;
const VIOLATIONS_SHOWN = 50;
const ADVICE_SHOWN = 20;

function linesFor(verdict: Verdict, paint: Paint): string {
  const { outcome, violations, advice, notes = [], omitted = 0, reason, hash, environment_hash } = verdict;
  const name = paint('strong', printable(verdict.input.replace(/^-(?=$|:)/, 'standard input')));
  const lines = [
    `${mark(outcome, paint)} ${name}  ${reason ? `${WORDS[outcome]}: ${printable(reason.message)}` : summary(verdict)}`,
  ];
  for (const { rule_id, message } of violations.slice(0, VIOLATIONS_SHOWN)) {
    lines.push(`    ${paint('bad', rule_id.padEnd(5))} ${printable(message)}`);
  }
  for (const { rule_id, message } of advice.slice(0, ADVICE_SHOWN)) {
    lines.push(`    ${paint('note', 'advice')} ${rule_id}: ${printable(message)}`);
  }
  const hidden = Math.max(0, violations.length - VIOLATIONS_SHOWN) + Math.max(0, advice.length - ADVICE_SHOWN);
  if (hidden > 0) lines.push(`    ${hidden} more; use --json to list all`);
  if (omitted > 0) lines.push(`    ${omitted} more found but not recorded`);
  for (const note of notes) lines.push(`    ${paint('note', 'note')}   ${printable(note)}`);
  if (hash) lines.push(`    ${paint('faint', `hash         ${hash}`)}`);
  if (environment_hash) lines.push(`    ${paint('faint', `environment  ${environment_hash}`)}`);
  return `${lines.join('\n')}\n`;
}

function mark(outcome: Outcome, paint: Paint): string {
  if (outcome === 'valid') return paint('good', '✓');
  return paint('bad', outcome === 'invalid' ? '✗' : '!');
}

const WORDS: Readonly<Record<Outcome, string>> = {
  valid: 'valid',
  invalid: 'invalid',
  refused: 'refused',
  unreadable: 'not readable',
};

function summary({ outcome, contract, documents, violations, signatures }: Verdict): string {
  if (documents) {
    const formats = Object.entries(documents.contracts).map(([name, count]) => `${numberText(count)} ${name}`);
    const listed = formats.length > 0 && formats.length <= FORMATS_SHOWN ? ` (${formats.join(', ')})` : '';
    const advised =
      documents.advised > 0 ? `; ${numberText(documents.advised)} with advice; use --json to list it` : '';
    const isSealed = documents.contracts['seal'] !== undefined && outcome === 'valid';
    const isSigned = signatures?.checked === true && signatures.unsigned === 0;
    const before =
      violations.length > 0
        ? `${brokenIn(violations)} between its files; `
        : isSealed
          ? `matches its seal${isSigned ? ' and signature' : ''}; `
          : '';
    return `${before}${before === '' ? '' : 'documents: '}${counted(documents.outcomes)}${listed}${advised}`;
  }
  return outcome === 'valid' ? `valid ${contract}` : `not a valid ${contract}: ${brokenIn(violations)}`;
}

const FORMATS_SHOWN = 5;

function brokenIn(violations: Verdict['violations']): string {
  const rules = new Set(violations.map(({ rule_id }) => rule_id)).size;
  return `${rules === 1 ? 'one rule' : `${rules} rules`} broken`;
}

/** "all 3 valid", "1 valid, 2 refused", or "none". */
function counted(outcomes: Readonly<Partial<Record<Outcome, number>>>): string {
  const entries = Object.entries(outcomes) as [Outcome, number][];
  const [only] = entries;
  if (!only) return 'none';
  if (entries.length === 1) return `${only[1] > 1 ? 'all ' : ''}${numberText(only[1])} ${WORDS[only[0]]}`;
  return (Object.keys(WORDS) as Outcome[])
    .flatMap(outcome => (outcomes[outcome] ? [`${numberText(outcomes[outcome])} ${WORDS[outcome]}`] : []))
    .join(', ');
}
