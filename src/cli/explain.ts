import { Fault } from '../base/fault.ts';
import type { Contract } from '../contracts/contract.ts';
import { explain, type FolderRule, folderRules, loadContracts, type RuleIn } from '../tool/explain.ts';
import { stdout } from './out.ts';
import { type Paint, paintFor } from './paint.ts';

export async function explainCommand(words: readonly string[]): Promise<number> {
  const paint = paintFor(1);
  if (words.length === 0) stdout.write(everything(await loadContracts(), paint));
  for (const word of words) {
    const { rules, contract, folderRule } = await explain(word);
    if (folderRule) stdout.write(`${aboutFolderRule(folderRule, paint)}\n`);
    else if (contract) stdout.write(`${aboutContract(contract, paint)}\n`);
    else if (rules.length > 0) stdout.write(`${aboutRule(rules, paint)}\n`);
    else throw new Fault('usage', 'No rule or contract is called that. proctor explain lists them all.');
  }
  return 0;
}

function everything(contracts: readonly Contract[], paint: Paint): string {
  const folders = [
    `${paint('strong', 'folders')}  What the documents of a folder say of each other and of the files in it`,
    ...folderRules.map(({ id, title }) => `    ${id.padEnd(5)} ${title}`),
  ];
  return `${contracts.map(contract => aboutContract(contract, paint)).join('\n')}\n${folders.join('\n')}\n`;
}

function aboutContract({ name, title, tells, source, rules, version, places }: Contract, paint: Paint): string {
  const known = version
    ? `${version.field}: ${JSON.stringify(version.value)}`
    : places
      ? `the file name ${places.join(', ')}`
      : `--as ${name}`;
  const lines = [
    `${paint('strong', name)}  ${title}`,
    `  ${tells}`,
    `  ${paint('faint', `${source} · known by ${known}`)}`,
  ];
  for (const rule of rules) lines.push(`    ${rule.id.padEnd(5)} ${rule.title}`);
  return `${lines.join('\n')}\n`;
}

function aboutRule(rules: readonly RuleIn[], paint: Paint): string {
  const [{ rule }] = rules as [RuleIn];
  const lines = [`${paint('strong', rule.id)}  ${rule.title}`, `  ${rule.why}`];
  for (const { contract, rule: here, broken } of rules) {
    lines.push('', `  In ${paint('strong', contract.name)} (${contract.source}):`);
    for (const ask of here.asks) lines.push(`    - ${ask}`);
    const [first] = broken;
    if (first) lines.push(`    ${paint('faint', `Broken, for example: ${first.message}`)}`);
  }
  return `${lines.join('\n')}\n`;
}

function aboutFolderRule({ id, title, why }: FolderRule, paint: Paint): string {
  return `${paint('strong', id)}  ${title}\n  ${why}\n  Judged when a folder is verified.\n`;
}
