import { isObject } from '../contracts/kind.ts';

/**
 * The parts of a package.json that run automatically: npm lifecycle scripts, hooks for hook managers, the package
 * manager that corepack fetches, and lists of packages whose scripts may run.
 */
export function activeInPackage(text: string): ReadonlyMap<string, string> {
  const document = objectIn(text);
  return new Map([
    ...chosen(document.scripts, name => LIFECYCLE.has(name) || name.startsWith('pnpm:')),
    ...chosen(document.config, name => name === 'ghooks' || name === 'pre-git'),
    ...chosen(document, name => KEYS.has(name)),
  ]);
}

/** The parts of a composer.json that run automatically: event scripts and allowed plugins. */
export function activeInComposer(text: string): ReadonlyMap<string, string> {
  const document = objectIn(text);
  return new Map([
    ...chosen(document.scripts, name => /^(?:pre|post)-|^(?:init|command)$/.test(name)),
    ...chosen(document.config, name => name === 'allow-plugins'),
  ]);
}

const LIFECYCLE: ReadonlySet<string> = new Set(
  'install publish prepare prepublish prepublishOnly pack uninstall version dependencies shrinkwrap'
    .split(' ')
    .flatMap(name => [name, `pre${name}`, `post${name}`]),
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

/** Like npm, it uses the last of two equal keys and ignores a byte order mark. Throws if the text is not JSON. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
  return isObject(value) ? value : {};
}

function chosen(value: unknown, isActive: (name: string) => boolean): [string, string][] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, part]) => (isActive(name) ? [[name, JSON.stringify(part)]] : []));
}
