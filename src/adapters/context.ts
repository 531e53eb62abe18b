/** Where an agent looks for a project's instructions, as relative paths. */
export interface ContextPlaces {
  /** In the work folder and each folder above it, the agent reads the first existing file of each row. */
  readonly instructions: readonly (readonly string[])[];
  /** Folders whose `.md` files are rules. */
  readonly rules: readonly string[];
  /** Folders whose subfolders contain a `SKILL.md`. */
  readonly skills: readonly string[];
  /** Whether instructions can import files, such as `@docs/style.md`. */
  readonly imports: boolean;
}

/** A project's instructions. Paths are inside the sandbox. */
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

/** The paths that instructions import: words that start with @, outside code and comments. */
export function importsIn(text: string): string[] {
  const plain = text
    .replace(/<!--[^]*?(?:-->|$)/g, ' ')
    .replace(/^(`{3,}|~{3,})[^]*?(?:^\1|$(?![^]))/gm, ' ')
    .replace(/`[^`\n]*`/g, ' ');
  return [...plain.matchAll(/(?<=^|\s)@([^\s~/][^\s]{0,1023})(?=\s|$)/g)].map(([, path = '']) => path);
}

/** A skill without hooks, permissions, model or agent: its header keeps only names and descriptions. */
export function plainSkill({ name, folder, text }: Skill): string {
  const [, head = '', body] = /(?<![^])\uFEFF?---[ \t]*\r?\n([^]*?)^---[ \t]*\r?$([^]*)/m.exec(text) ?? [];
  const kept = keptLines(head);
  const named = kept.some(line => line.startsWith('name:')) ? kept : [`name: ${name}`, ...kept];
  const told = (body ?? text.replace(/^\uFEFF/, '')).replaceAll('${CLAUDE_SKILL_DIR}', folder).trim();
  return ['---', ...named, '---', '', told, '', `The files of this skill are in ${folder}.`, ''].join('\n');
}

/** The lines of the kept keys, with the lines indented below them. */
function keptLines(head: string): string[] {
  let isKept = false;
  return head.split(/\r?\n/).filter(line => {
    if (!/^(?:\s|$)/.test(line)) isKept = KEPT.test(line);
    return isKept && line.trim() !== '';
  });
}

const KEPT = /^(?:name|description|when_to_use|argument-hint|disable-model-invocation|user-invocable):/;
