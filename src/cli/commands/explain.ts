import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable, printableJson } from '../../base/printable.ts';
import type { Contract } from '../../contracts/contract.ts';
import {
  explain,
  type ExplainedTerm,
  type FolderRule,
  folderRules,
  loadContracts,
  packRules,
  type RuleIn,
} from '../../verbs/explain.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';

export async function explainCommand(words: readonly string[], { json }: { readonly json?: true }): Promise<number> {
  const paint = paintFor(1);
  const known = words.length === 0 ? [await knownRules()] : await Promise.all(words.map(explained));
  if (json) stdout.write(`${printableJson(explainJson(known))}\n`);
  else if (words.length === 0) stdout.write(everything(await loadContracts(), paint));
  else for (const one of known) stdout.write(explainText(one, paint));
  return 0;
}

type Explained = ExplainedTerm & { readonly contracts?: readonly Contract[] };

async function explained(word: string): Promise<Explained> {
  const found = await explain(word);
  const { contract, rules, folderRules, packRules } = found;
  if (contract || [rules, folderRules, packRules].some(({ length }) => length > 0)) return found;
  const { contracts = [], ...all } = await knownRules();
  const ids = [...all.rules.map(({ rule }) => rule.id), ...[...all.folderRules, ...all.packRules].map(({ id }) => id)];
  const near = didYouMean(word, [...contracts.map(({ name }) => name), ...ids]);
  throw new Fault(
    'usage',
    `There is no rule or format "${printable(word)}".${near} Run proctor explain to list them all.`,
  );
}

async function knownRules(): Promise<Explained> {
  const contracts = await loadContracts();
  const rules = contracts.flatMap(contract => contract.rules.map(rule => ({ contract, rule, broken: [] })));
  return { contracts, rules, folderRules, packRules };
}

function explainText({ contract, rules, folderRules, packRules }: Explained, paint: Paint): string {
  return [
    ...(contract ? [aboutContract(contract, paint)] : []),
    ...groupedBy(rules, ({ rule }) => rule.id).map(same => aboutRule(same, paint)),
    ...folderRules.map(rule => aboutFolderRule(rule, 'folders', paint)),
    ...packRules.map(rule => aboutFolderRule(rule, 'packs', paint)),
  ]
    .map(text => `${text}\n`)
    .join('');
}

/** Formats with the ids of their rules, and rules with what they require of each format, of folders and of packs. */
function explainJson(known: readonly Explained[]): object {
  const formats = known.flatMap(({ contract, contracts = [] }) => [...(contract ? [contract] : []), ...contracts]);
  const rules = known.flatMap(one => [
    ...one.rules.map(({ rule, contract }) => ruleJson(rule, 'format', contract.name)),
    ...formatRules(one).map(({ rule, format }) => ruleJson(rule, 'format', format)),
    ...one.folderRules.map(rule => ruleJson(rule, 'folder', null)),
    ...one.packRules.map(rule => ruleJson(rule, 'pack', null)),
  ]);
  return {
    formats: formats.map(({ name, title, tells, source, rules }) => ({
      name,
      title,
      about: tells,
      source,
      rules: rules.map(({ id }) => id),
    })),
    rules,
  };
}

/** The rules of a format that the user named. */
function formatRules({ contract }: Explained): { readonly rule: FolderRule; readonly format: string }[] {
  return contract ? contract.rules.map(rule => ({ rule, format: contract.name })) : [];
}

function ruleJson({ id, title, why, asks }: FolderRule, scope: 'format' | 'folder' | 'pack', format: string | null) {
  return { id, title, why, scope, format, asks };
}

function everything(contracts: readonly Contract[], paint: Paint): string {
  const formats = contracts.map(contract => [
    heading(contract, paint),
    ...contract.rules.map(({ id, title }) => `    ${id.padEnd(5)} ${title}`),
  ]);
  const folders = [
    `${paint('strong', 'folders')}  Rules across the documents and files of a folder`,
    ...folderRules.map(({ id, title }) => `    ${id.padEnd(5)} ${title}`),
  ];
  const packs = [
    `${paint('strong', 'packs')}  Rules for packs, in addition to the rules for folders`,
    ...packRules.map(({ id, title }) => `    ${id.padEnd(5)} ${title}`),
  ];
  return `${[...formats, folders, packs].map(lines => lines.join('\n')).join('\n\n')}\n`;
}

function heading({ name, title, tells, source, version, fileNames }: Contract, paint: Paint): string {
  const field = version && `${version.field}: ${JSON.stringify(version.value)}`;
  const known = [field, ...(fileNames ?? []).map(fileName => `file name ${fileName}`), `--as ${name}`]
    .filter(Boolean)
    .join(', or ');
  return `${paint('strong', name)}  ${title}\n  ${tells}\n  ${paint('faint', `${source} · detected by ${known}`)}`;
}

function aboutContract(contract: Contract, paint: Paint): string {
  const lines = [heading(contract, paint)];
  for (const { id, title, asks } of contract.rules) {
    lines.push('', `  ${paint('strong', id)}  ${title}`, ...asks.map(ask => `    - ${ask}`));
  }
  const { name } = contract;
  lines.push(
    '',
    paint('faint', `  proctor example ${name} prints a valid document; proctor schema ${name} prints its JSON Schema.`),
  );
  return `${lines.join('\n')}\n`;
}

/** One rule, with the formats grouped by what it requires of them. */
function aboutRule(rules: readonly RuleIn[], paint: Paint): string {
  const [{ rule }] = rules as [RuleIn];
  const lines = [`${paint('strong', rule.id)}  ${rule.title}`, `  ${rule.why}`];
  for (const group of groupedBy(rules, ({ rule }) => rule.asks.join('\n'))) {
    const [first] = group as [RuleIn];
    lines.push(
      '',
      `  In ${group.map(({ contract }) => paint('strong', contract.name)).join(', ')} (${first.contract.source}):`,
    );
    for (const ask of first.rule.asks) lines.push(`    - ${ask}`);
    const [broken] = first.broken;
    if (broken) lines.push(`    ${paint('faint', `Example of a violation: ${broken.message}`)}`);
  }
  return `${lines.join('\n')}\n`;
}

function aboutFolderRule({ id, title, why, asks }: FolderRule, where: string, paint: Paint): string {
  return `${paint('strong', id)}  ${title}\n  ${why}\n\n  In ${where}:\n${asks.map(ask => `    - ${ask}`).join('\n')}\n`;
}

function groupedBy(rules: readonly RuleIn[], keyOf: (rule: RuleIn) => string): RuleIn[][] {
  const groups = new Map<string, RuleIn[]>();
  for (const rule of rules) groups.set(keyOf(rule), [...(groups.get(keyOf(rule)) ?? []), rule]);
  return [...groups.values()];
}
