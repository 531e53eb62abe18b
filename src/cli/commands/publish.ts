import { statSync } from 'node:fs';
import path from 'node:path';
import type { ScriptVersionsAnswer } from '../../client/answers.ts';
import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { closeLauncher } from '../../verbs/launcher.ts';
import { listScripts, publishScript, rollBackScript, withdrawVersion } from '../../verbs/publish/publish.ts';
import { publishedRunView } from '../../verbs/publish/published-view.ts';
import { runPublished } from '../../verbs/publish/run-published.ts';
import { interruptions } from '../options/interruptions.ts';
import { namedKey } from '../options/variables.ts';
import { stderr, stdout } from '../text/out.ts';
import { type Paint, paintFor } from '../text/paint.ts';
import { exitOfStopped } from '../text/refusal.ts';
import { WAITING } from '../text/run-text.ts';
import { countText, sizeText } from '../text/units.ts';

export interface PublishFlags {
  readonly draft?: true;
  readonly list?: true;
  readonly withdraw?: string;
  readonly rollback?: string;
  readonly try?: string;
  readonly set?: readonly string[];
  readonly file?: readonly string[];
  readonly on?: string;
  readonly tokenFile?: string;
  readonly json?: true;
}

type PublishedView = Awaited<ReturnType<typeof publishScript>>;

export async function publishCommand(folder: string | undefined, flags: PublishFlags): Promise<number> {
  const { list, withdraw, rollback, try: tried } = flags;
  const acts = [folder, list, withdraw, rollback, tried].filter(act => act !== undefined);
  if (acts.length !== 1)
    throw new Fault('usage', 'Name a folder, or use one of --list, --withdraw, --rollback and --try.');
  if (flags.on !== undefined) {
    const { publishOnCommand } = await import('./publish-on.ts');
    return publishOnCommand(folder, flags, flags.on);
  }
  const paint = paintFor(1);
  if (tried !== undefined) return tryCommand(tried, flags);
  if (folder !== undefined) {
    const view = await publishScript(folder, { draft: flags.draft === true });
    print(flags, view, () => publishedText(view, hintOf(view), paint));
  } else if (list) {
    const listed = listScripts(process.cwd());
    print(flags, listed, () => listText(listed, paint));
  } else {
    const changed = withdraw === undefined ? await rollBackScript(rollback as string) : await withdrawn(withdraw);
    print(flags, changed, () => scriptText(changed, paint));
  }
  return 0;
}

function withdrawn(word: string): ReturnType<typeof withdrawVersion> {
  const { name, version } = namedVersion(word);
  return withdrawVersion(name, version);
}

export function namedVersion(word: string): { readonly name: string; readonly version: string } {
  const { name, version } = versionIn(word);
  if (version === undefined) throw new Fault('usage', 'Name the version, such as clean-orders@1.2.0.');
  return { name, version };
}

function print(flags: PublishFlags, value: object, text: () => string): void {
  stdout.write(flags.json ? `${printableJson(value)}\n` : text());
}

function versionIn(word: string): { readonly name: string; readonly version: string | undefined } {
  const at = word.indexOf('@');
  return at < 0 ? { name: word, version: undefined } : { name: word.slice(0, at), version: word.slice(at + 1) };
}

async function tryCommand(word: string, flags: PublishFlags): Promise<number> {
  const paint = paintFor(2);
  const interrupt = interruptions();
  const { name, version } = versionIn(word);
  try {
    const run = await runPublished(
      {
        name,
        ...(version !== undefined && { version }),
        values: Object.fromEntries((flags.set ?? []).map(pairOf)),
        files: (flags.file ?? []).map(pairOf).map(([field, file]) => uploadOf(field, file)),
      },
      {
        ...namedKey(),
        signal: interrupt.signal,
        onWait: () => stderr.write(paint('faint', WAITING)),
        onWarning: sentence => stderr.write(`${paint('note', 'warning')}: ${sentence}\n`),
      },
    );
    const view = publishedRunView(process.cwd(), run.runId);
    print(flags, view, () => runText(view, run.folder, paintFor(1)));
    return interrupt.exit() ?? (view.state === 'succeeded' ? 0 : 1);
  } catch (error) {
    return exitOfStopped(error, interrupt.exit(), flags.json === true);
  } finally {
    await closeLauncher();
    interrupt.end();
  }
}

function pairOf(word: string): readonly [string, string] {
  const at = word.indexOf('=');
  if (at < 1) throw new Fault('usage', `Write "${printable(word)}" as NAME=VALUE.`);
  return [word.slice(0, at), word.slice(at + 1)];
}

function uploadOf(field: string, file: string) {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile()) throw new Fault('usage', `The file ${printable(path.basename(file))} does not exist.`);
  return { field, name: path.basename(file), bytes: stat.size, file };
}

function hintOf({ name, version, state }: PublishedView): string {
  return state === 'draft' ? `proctor publish --try ${name}@${version}` : 'proctor publish --list';
}

/** `next`: what to do or open next. */
export function publishedText(
  { name, version, digest, state, is_new, files, bytes }: PublishedView,
  next: string,
  paint: Paint,
): string {
  const done = is_new ? (state === 'draft' ? 'stored as a draft' : 'published') : `unchanged, ${state}`;
  return (
    `${paint('good', '✓')} ${paint('strong', done)}  ${name} ${version}  ${countText(files, 'file')}, ${sizeText(bytes)}\n` +
    `  digest    ${digest}\n${paint('faint', `            ${next}\n`)}`
  );
}

function listText({ scripts, refused }: ReturnType<typeof listScripts>, paint: Paint): string {
  const wrong = refused.map(({ message }) => `${paint('bad', '✗')} ${printable(message)}\n`);
  if (scripts.length + wrong.length === 0) return 'No scripts are published here. Run proctor publish FOLDER.\n';
  return [...scripts.map(script => scriptText(script, paint)), ...wrong].join('');
}

export function scriptText({ name, title, current, versions }: ScriptVersionsAnswer, paint: Paint): string {
  const offered = current === null ? paint('note', 'not offered') : `offers ${current}`;
  const lines = versions.map(({ version, state, is_current, author, at }) => {
    const mark = is_current ? paint('good', '●') : ' ';
    return `  ${mark} ${version}  ${state}  ${paint('faint', `${at.slice(0, 16).replace('T', ' ')} by ${printable(author)}`)}\n`;
  });
  return `${paint('strong', name)}  ${printable(title ?? '')}  ${offered}\n${lines.join('')}`;
}

function runText(view: ReturnType<typeof publishedRunView>, folder: string, paint: Paint): string {
  const { state, script, error_summary: summary, files, correlation_id: id } = view;
  const mark = state === 'succeeded' ? paint('good', '✓') : paint('bad', '✗');
  const held = files.filter(file => file.state !== 'offered').length;
  const lines = [
    `${mark} ${paint('strong', state.replace('_', ' '))}  ${script.name} ${script.version}`,
    ...(summary === null ? [] : [`  ${printable(summary)}`]),
    `  output    ${files.length === 0 ? 'no files' : countText(files.length, 'file')}${held > 0 ? `, ${held} withheld` : ''}`,
    `  evidence  ${printable(path.relative(process.cwd(), folder))}`,
    ...(id === null ? [] : [paint('faint', `            reference ${id}`)]),
  ];
  return `${lines.join('\n')}\n`;
}
