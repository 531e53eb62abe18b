/** What reads a string in an intent: a person, a file system, a program, a search, or a shell. */
export type TextKind = 'prose' | 'path' | 'argument' | 'search' | 'shell';

/** A part of a string, and the patterns of its placeholders. The parts add up to the whole string. */
export interface TextPart {
  readonly text: string;
  /** `<name>` and `{{name}}`. One of the groups captures the name. */
  readonly named: RegExp | undefined;
  /** Words such as TBD. */
  readonly open: RegExp | undefined;
}

/** Splits a string into parts with their placeholder patterns. Code, and words that are only mentioned, have none. */
export function partsOf(text: string, kind: TextKind): TextPart[] {
  if (kind === 'prose') return sentencesOf(text).map(inProse);
  if (kind === 'path') return [{ text, named: ANYWHERE, open: OPEN_IN_NAME }];
  if (kind === 'shell') return [{ text, named: IN_SHELL, open: OPEN_IN_SHELL }];
  if (isCode(text)) return [{ text, named: undefined, open: undefined }];
  return [{ text, named: IN_ARGUMENT, open: kind === 'search' || /\s/.test(text) ? undefined : OPEN_IN_NAME }];
}

/** A quick test, because most strings contain no placeholder. */
export function mayHold(text: string): boolean {
  return text.includes('<') || text.includes('{{') || MAY_BE_OPEN.test(text);
}

const MAY_BE_OPEN = /TB[DAC]|FIXME|XXX|TODO|\?\?\?|to be/i;

const NAME = '[a-z][a-z0-9 _-]{0,39}';
const ANGLE = `<(${NAME})>`;
const BRACES = String.raw`\{\{\s{0,4}(${NAME}?)\s{0,4}\}\}`;

/** Not after a letter, because that is a type: `List<string>`. */
const IN_PROSE = new RegExp(`(?<![\\w<])${ANGLE}|${BRACES}`, 'gi');

/** In a path, these characters always mark a placeholder, because some systems do not allow them in file names. */
const ANYWHERE = new RegExp(`${ANGLE}|${BRACES}`, 'gi');

/** After a letter only inside a name (`app<env>.txt`), or for a version (`v<version>`). */
const IN_ARGUMENT = new RegExp(`(?<![\\w<])${ANGLE}|(?<=\\w)${ANGLE}(?=[./:_-]\\w)|(?<=\\bv)${ANGLE}|${BRACES}`, 'gi');

/** Only if a shell cannot read it as `<in >out`: alone, inside a name, or with nothing after it. */
const IN_SHELL = new RegExp(
  String.raw`^${ANGLE}$|(?<=[-/=_.:@])<([a-z][a-z0-9_-]{0,39})>|(?<!<)<([a-z][a-z0-9_-]{0,39})>(?=\s*(?:$|[;|)]|&&))|${BRACES}`,
  'gi',
);

const OPEN_IN_PROSE =
  /\b(?:TBD|TBA|TBC|FIXME|XXX)\b|\bTODO\b(?=\s*(?:[:.)\]]|$))|\?\?\?|\bto be (?:determined|defined|decided|announced)\b/g;
/** TODO.md and FIXME.md are ordinary file names. */
const OPEN_IN_NAME = /^(?:TODO|FIXME)$|(?<![A-Za-z0-9])(?:TBD|TBA|TBC|XXX)(?![A-Za-z0-9])|\?\?\?/g;
const OPEN_IN_SHELL = /^(?:TBD|TBA|TBC|FIXME|XXX|TODO|\?\?\?)$|(?<=[-/=_.:@])(?:TBD|TBA|TBC|XXX)(?![A-Za-z0-9])/g;

function inProse(sentence: string): TextPart {
  const isAboutThem = /\bplaceholders?\b/i.test(sentence);
  return {
    text: sentence,
    named: isAboutThem ? undefined : IN_PROSE,
    open: isAboutThem || TALKS.test(sentence) ? undefined : OPEN_IN_PROSE,
  };
}

/** A sentence ends at a full stop, a semicolon, an exclamation mark or a line feed, if white space follows. */
function sentencesOf(text: string): string[] {
  return MAY_BE_OPEN.test(text) ? text.split(/(?<=[.;!\n])(?=\s)/) : [text];
}

const WORD = '(?:TBD|TBA|TBC|FIXME|XXX|TODO)';

/** A sentence about such words: it quotes one, lists several, or says what to do with them. */
const TALKS = new RegExp(
  [
    `["'\`“‘]${WORD}["'\`”’]`,
    `\\b${WORD}\\s{0,4}(?:,|/|or|and|, or|, and)\\s{0,4}${WORD}\\b`,
    String.raw`\b(?:[Rr]eject|[Rr]efus|[Ff]lag|[Dd]etect|[Ff]orbid|[Dd]isallow)[a-z]{0,5}\b`,
    `\\b(?:[Aa]ny|[Ee]ach|[Ee]very|[Nn]o|[Ww]ithout|(?:[Nn]ot|[Nn]ever) (?:contain|hold|include|leave|say|use))\\s{1,8}${WORD}\\b`,
  ].join('|'),
);

/** Whether a string has brackets, quotation marks or operators outside its placeholders. JSON is data, not code. */
function isCode(text: string): boolean {
  const rest = text.replace(ANYWHERE, '');
  return CODE.test(rest) && !isJson(text);
}

const CODE = /[<>(){};`$\\|"\n]|(?<!\w)'|'(?!\w)/;

function isJson(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
