/**
 * The parts of a package.json that run without being asked for: scripts that npm runs on install, pack and publish, hooks that
 * hook managers read here, the package manager that corepack fetches, and lists of packages whose scripts may run.
 */
export function activeInPackage(text: string): ReadonlyMap<string, string> {
  const document = objectIn(text);
  return new Map([
    ...chosen(document.scripts, name => LIFECYCLE.has(name) || name.startsWith('pnpm:')),
    ...chosen(document.config, name => name === 'ghooks' || name === 'pre-git'),
    ...chosen(document, name => KEYS.has(name)),
  ]);
}

/** The parts of a composer.json that run without being asked for: scripts around its events, and which plugins may run. */
export function activeInComposer(text: string): ReadonlyMap<string, string> {
  const document = objectIn(text);
  return new Map([
    ...chosen(document.scripts, name => /^(?:pre|post)-|^(?:init|command)$/.test(name)),
    ...chosen(document.config, name => name === 'allow-plugins'),
  ]);
}

const LIFECYCLE: ReadonlySet<string> = new Set(
  [
    'install',
    'publish',
    'prepare',
    'prepublish',
    'prepublishOnly',
    'pack',
    'uninstall',
    'version',
    'dependencies',
    'shrinkwrap',
  ].flatMap(name => [name, `pre${name}`, `post${name}`]),
);

const KEYS: ReadonlySet<string> = new Set([
  'husky',
  'simple-git-hooks',
  'gitHooks',
  'pre-commit',
  'pre-push',
  'lint-staged',
  'packageManager',
  'gypfile',
  'pnpm',
  'trustedDependencies',
  'allowScripts',
  'dependenciesMeta',
]);

/** Like npm, which takes the last of two equal keys and passes over a byte order mark. Throws where the text is no JSON. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
  return isObject(value) ? value : {};
}

function chosen(value: unknown, isActive: (name: string) => boolean): [string, string][] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => (isActive(name) ? [[name, JSON.stringify(part)]] : []));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
