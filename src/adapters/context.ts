/** Where an agent's program looks for the instructions of a project. Paths are below a folder. */
export interface ContextPlaces {
  /** In the work folder and each folder above it: of each row, the first file that is there. */
  readonly instructions: readonly (readonly string[])[];
  /** Folders of rules: every `.md` file in them. */
  readonly rules: readonly string[];
  /** Folders of skills: the file `SKILL.md` in each folder of theirs. */
  readonly skills: readonly string[];
  /** Instructions may import others, as `@docs/style.md`. */
  readonly imports: boolean;
}

/** The instructions of a project, as an agent's program gets them. Paths are those inside the sandbox. */
export interface ProjectContext {
  /** From the top of the project to the work folder. */
  readonly folders: readonly string[];
  readonly skills: readonly Skill[];
}

export interface Skill {
  readonly name: string;
  readonly folder: string;
  readonly text: string;
}

/** What instructions import: words that begin with @, outside of code and comments. */
export function importsIn(text: string): string[] {
  const plain = text
    .replace(/<!--[^]*?(?:-->|$)/g, ' ')
    .replace(/^(`{3,}|~{3,})[^]*?(?:^\1|$(?![^]))/gm, ' ')
    .replace(/`[^`\n]*`/g, ' ');
  return [...plain.matchAll(/(?<=^|\s)@([^\s~/][^\s]{0,1023})(?=\s|$)/g)].map(([, path = '']) => path);
}

/**
 * A skill without what would change the policy: of its head only what names and describes it is kept, so that no hook,
 * no permission, no model and no agent of its own comes along.
 */
export function plainSkill({ name, folder, text }: Skill): string {
  const [, head = '', body] = /(?<![^])\uFEFF?---[ \t]*\r?\n([^]*?)^---[ \t]*\r?$([^]*)/m.exec(text) ?? [];
  const kept = keptLines(head);
  const named = kept.some(line => line.startsWith('name:')) ? kept : [`name: ${name}`, ...kept];
  const told = (body ?? text.replace(/^\uFEFF/, '')).replaceAll('${CLAUDE_SKILL_DIR}', folder).trim();
  return ['---', ...named, '---', '', told, '', `Files that belong to this skill are in ${folder}.`, ''].join('\n');
}

/** Lines of the keys that are kept, with what is indented below them. Any other line ends a key. */
function keptLines(head: string): string[] {
  let isKept = false;
  return head.split(/\r?\n/).filter(line => {
    if (!/^(?:\s|$)/.test(line)) isKept = KEPT.test(line);
    return isKept && line.trim() !== '';
  });
}

const KEPT = /^(?:name|description|when_to_use|argument-hint|disable-model-invocation|user-invocable):/;
