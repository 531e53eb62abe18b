import type { CST, Document, LineCounter, ParsedNode } from 'yaml';
import { clip } from '../../base/clip.ts';
import { printable } from '../../base/printable.ts';
import type { WrittenWrong } from './wrong.ts';
import { yamlLibrary } from './yaml-library.ts';

export interface YamlDocument {
  /** Undefined if the text contains only white space and comments. */
  readonly root: ParsedNode | undefined;
  readonly lineAt: (offset: number) => number;
}

/** Parses a single YAML 1.2 document with the core schema, or returns its faults. */
export function yamlDocument(text: string): YamlDocument | readonly WrittenWrong[] {
  const { Composer, LineCounter } = yamlLibrary();
  const lines = new LineCounter();
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const tokens = tokensOf(text, lines);
  if ('says' in tokens) return [{ line: lineAt(tokens.offset), says: tokens.says }];
  const [document, second] = [...new Composer(OPTIONS).compose(tokens, true, text.length)];
  if (!document) return { root: undefined, lineAt };
  if (second)
    return [{ line: lineAt(second.range[0]), says: 'A second YAML document starts here; only one is allowed' }];
  const wrongs = wrongsOf(document, lineAt);
  return wrongs.length > 0 ? wrongs : { root: document.contents ?? undefined, lineAt };
}

export const YAML_DEPTH_MAX = 64;
export const TOO_DEEP = `The file is nested deeper than ${YAML_DEPTH_MAX} levels`;

/** YamlValues finds duplicate keys, because the library compares every key with all others. */
const OPTIONS = {
  version: '1.2',
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  uniqueKeys: false,
  prettyErrors: false,
  strict: true,
  logLevel: 'silent',
} as const;

/**
 * Tokenizes YAML text within limits on depth and count. The composer is recursive, and a stack overflow inside a
 * regular expression ends the process instead of throwing. A token takes about 200 bytes of memory, and an invalid one
 * more than 1,000.
 */
function tokensOf(text: string, lines: LineCounter): CST.Token[] | { readonly offset: number; readonly says: string } {
  const { Lexer, Parser } = yamlLibrary();
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  const tokens: CST.Token[] = [];
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > STACK_MAX) return { offset: parser.offset, says: TOO_DEEP };
    if (++lexemes > LEXEMES_MAX) return { offset: parser.offset, says: TOO_MANY };
  }
  for (const token of parser.end()) tokens.push(token);
  return tokens;
}

const LEXEMES_MAX = 2_000_000;
const TOO_MANY = `The file has more than ${LEXEMES_MAX.toLocaleString('en-US')} YAML tokens; use JSON Lines instead`;

/** The stack also holds the document and the current token. YamlValues checks the exact depth. */
const STACK_MAX = YAML_DEPTH_MAX + 8;

function wrongsOf(document: Document.Parsed, lineAt: (offset: number) => number): readonly WrittenWrong[] {
  const [error] = document.errors;
  // Errors after the first are mostly its consequences.
  if (error) {
    const isKey = error.code === 'NON_STRING_KEY';
    const says = isKey ? 'The key is not a string' : `Invalid YAML: ${shown(error.message)}`;
    return [{ line: lineAt(error.pos[0]), says }];
  }
  if (document.directives.yaml.version !== '1.2') return [{ line: 1, says: 'Only YAML 1.2 is supported' }];
  return document.warnings.map(({ code, pos, message }) => ({
    line: lineAt(pos[0]),
    says: code === 'TAG_RESOLVE_FAILED' ? 'YAML tags are not supported' : shown(message),
  }));
}

function shown(message: string): string {
  return printable(clip(message, 200).text);
}
