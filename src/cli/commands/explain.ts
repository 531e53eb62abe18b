import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { Contract } from '../../contracts/contract.ts';
import { explain, type FolderRule, folderRules, loadContracts, packRules, type RuleIn } from '../../verbs/explain.ts';
import { stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';

export async function explainCommand(words: readonly string[]): Promise<number> {
  const paint = paintFor(1);
  if (words.length === 0) stdout.write(everything(await loadContracts(), paint));
  for (const word of words) {
    const { contract, rules, folderRules, packRules } = await explain(word);
    if (!contract && [rules, folderRules, packRules].every(({ length }) => length === 0)) {
      throw new Fault(
        'usage',
        `There is no rule or format "${printable(word)}". Run proctor explain to list them all.`,
      );
    }
    if (contract) stdout.write(`${aboutContract(contract, paint)}\n`);
    for (const same of groupedBy(rules, ({ rule }) => rule.id)) stdout.write(`${aboutRule(same, paint)}\n`);
    for (const rule of folderRules) stdout.write(`${aboutFolderRule(rule, 'folders', paint)}\n`);
    for (const rule of packRules) stdout.write(`${aboutFolderRule(rule, 'packs', paint)}\n`);
  }
  return 0;
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
