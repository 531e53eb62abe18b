import type { CST, Document, LineCounter, ParsedNode } from 'yaml';
import { clip } from '../../base/clip.ts';
import { printable } from '../../base/printable.ts';
import type { WrittenWrong } from './wrong.ts';
import { yamlLibrary } from './yaml-library.ts';

export interface YamlDocument {
  /** Undefined if nothing but white space and comments is there. */
  readonly root: ParsedNode | undefined;
  readonly lineAt: (offset: number) => number;
}

/** The one YAML document of a text, by the core schema of YAML 1.2, or what keeps it from being one. */
export function yamlDocument(text: string): YamlDocument | readonly WrittenWrong[] {
  const { Composer, LineCounter } = yamlLibrary();
  const lines = new LineCounter();
  const lineAt = (offset: number): number => Math.max(1, lines.linePos(offset).line);
  const tokens = tokensOf(text, lines);
  if ('says' in tokens) return [{ line: lineAt(tokens.offset), says: tokens.says }];
  const [document, second] = [...new Composer(OPTIONS).compose(tokens, true, text.length)];
  if (!document) return { root: undefined, lineAt };
  if (second) return [{ line: lineAt(second.range[0]), says: 'A second document begins here; there may be one only' }];
  const wrongs = wrongsOf(document, lineAt);
  return wrongs.length > 0 ? wrongs : { root: document.contents ?? undefined, lineAt };
}

export const DEPTH_MAX = 64;
export const TOO_DEEP = `The file is nested deeper than ${DEPTH_MAX} levels`;

/** Repeated keys are looked for by us: the library compares each key with all others. */
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
 * The tokens of a text, or where they become too deep or too many. Composing them is recursive, and a process that runs
 * out of stack inside a regular expression is not thrown at but ended, so this must be known before. Each word, sign and
 * space takes some 200 bytes, and more than 1,000 where it is an error.
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
const TOO_MANY = `More than ${LEXEMES_MAX.toLocaleString('en-US')} words and signs are too many for YAML; write JSON lines`;

/** The document and what is being read stand on the parser's stack, too; the exact depth is counted later. */
const STACK_MAX = DEPTH_MAX + 8;

function wrongsOf(document: Document.Parsed, lineAt: (offset: number) => number): readonly WrittenWrong[] {
  const [error] = document.errors;
  // What follows the first error is mostly its echo.
  if (error) {
    const isKey = error.code === 'NON_STRING_KEY';
    const says = isKey ? 'A key stands here that is not a text' : `This is not YAML: ${shown(error.message)}`;
    return [{ line: lineAt(error.pos[0]), says }];
  }
  if (document.directives.yaml.version !== '1.2') return [{ line: 1, says: 'The file is read as YAML 1.2 only' }];
  return document.warnings.map(({ code, pos, message }) => ({
    line: lineAt(pos[0]),
    says: code === 'TAG_RESOLVE_FAILED' ? 'A tag stands here; tags are not read' : shown(message),
  }));
}

function shown(message: string): string {
  return printable(clip(message, 200).text);
}
