/** What a text of an intent is: people read prose, file systems paths, programs arguments or what to search for, a shell its line. */
export type Kind = 'prose' | 'path' | 'argument' | 'search' | 'shell';

/** A part of a text, and the placeholders that count in it. Its parts together are the text. */
export interface Part {
  readonly text: string;
  /** `<name>` and `{{name}}`; the name stands in one of the groups. */
  readonly named: RegExp | undefined;
  /** Words such as TBD. */
  readonly open: RegExp | undefined;
}

/** The parts of a text, each with what is a placeholder there. Nothing is one in code, and nothing that is only talked about. */
export function partsOf(text: string, kind: Kind): Part[] {
  if (kind === 'prose') return sentencesOf(text).map(inProse);
  if (kind === 'path') return [{ text, named: ANYWHERE, open: OPEN_IN_NAME }];
  if (kind === 'shell') return [{ text, named: IN_SHELL, open: OPEN_IN_SHELL }];
  if (isCode(text)) return [{ text, named: undefined, open: undefined }];
  return [{ text, named: IN_ARGUMENT, open: kind === 'search' || /\s/.test(text) ? undefined : OPEN_IN_NAME }];
}

/** Most texts hold none, and are not looked at twice. */
export function mayHold(text: string): boolean {
  return text.includes('<') || text.includes('{{') || MAY_BE_OPEN.test(text);
}

const MAY_BE_OPEN = /TB[DAC]|FIXME|XXX|TODO|\?\?\?|to be/i;

const NAME = '[a-z][a-z0-9 _-]{0,39}';
const ANGLE = `<(${NAME})>`;
const BRACES = String.raw`\{\{\s{0,4}(${NAME}?)\s{0,4}\}\}`;

/** Not after a letter, where it is a type: `List<string>`. */
const IN_PROSE = new RegExp(`(?<![\\w<])${ANGLE}|${BRACES}`, 'gi');

/** No file system that evidence travels to has these signs in names. */
const ANYWHERE = new RegExp(`${ANGLE}|${BRACES}`, 'gi');

/** After a letter only where a name goes on (`app<env>.txt`), or begins with a version (`v<version>`). */
const IN_ARGUMENT = new RegExp(`(?<![\\w<])${ANGLE}|(?<=\\w)${ANGLE}(?=[./:_-]\\w)|(?<=\\bv)${ANGLE}|${BRACES}`, 'gi');

/** Where a shell could not mean `<in >out`: alone, within a name, or with nothing after it to write to. */
const IN_SHELL = new RegExp(
  String.raw`^${ANGLE}$|(?<=[-/=_.:@])<([a-z][a-z0-9_-]{0,39})>|(?<!<)<([a-z][a-z0-9_-]{0,39})>(?=\s*(?:$|[;|)]|&&))|${BRACES}`,
  'gi',
);

const OPEN_IN_PROSE =
  /\b(?:TBD|TBA|TBC|FIXME|XXX)\b|\bTODO\b(?=\s*(?:[:.)\]]|$))|\?\?\?|\bto be (?:determined|defined|decided|announced)\b/g;
/** TODO.md and FIXME.md are names that people give. */
const OPEN_IN_NAME = /^(?:TODO|FIXME)$|(?<![A-Za-z0-9])(?:TBD|TBA|TBC|XXX)(?![A-Za-z0-9])|\?\?\?/g;
const OPEN_IN_SHELL = /^(?:TBD|TBA|TBC|FIXME|XXX|TODO|\?\?\?)$|(?<=[-/=_.:@])(?:TBD|TBA|TBC|XXX)(?![A-Za-z0-9])/g;

function inProse(sentence: string): Part {
  const isAboutThem = /\bplaceholders?\b/i.test(sentence);
  return {
    text: sentence,
    named: isAboutThem ? undefined : IN_PROSE,
    open: isAboutThem || TALKS.test(sentence) ? undefined : OPEN_IN_PROSE,
  };
}

/** By hand would be longer: a sentence ends where white space follows its stop. */
function sentencesOf(text: string): string[] {
  return MAY_BE_OPEN.test(text) ? text.split(/(?<=[.;!\n])(?=\s)/) : [text];
}

const WORD = '(?:TBD|TBA|TBC|FIXME|XXX|TODO)';

/** A sentence about such words: it quotes one, names several, or says what is to be done with whatever holds one. */
const TALKS = new RegExp(
  [
    `["'\`“‘]${WORD}["'\`”’]`,
    `\\b${WORD}\\s{0,4}(?:,|/|or|and|, or|, and)\\s{0,4}${WORD}\\b`,
    String.raw`\b(?:[Rr]eject|[Rr]efus|[Ff]lag|[Dd]etect|[Ff]orbid|[Dd]isallow)[a-z]{0,5}\b`,
    `\\b(?:[Aa]ny|[Ee]ach|[Ee]very|[Nn]o|[Ww]ithout|(?:[Nn]ot|[Nn]ever) (?:contain|hold|include|leave|say|use))\\s{1,8}${WORD}\\b`,
  ].join('|'),
);

/** Brackets, quotation marks and operators that stand outside of placeholders. JSON is data, not code. */
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
