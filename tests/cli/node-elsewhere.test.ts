/** Proctor on a Node outside of /usr, as nvm, Volta and setup-node install it. */
import { describe, expect, test } from 'vitest';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { Home, NVM } from '../support/home.ts';

const launcher = openLauncher();
const { missing, isRoot } = await launcher.machine();
await launcher.close();
const NOBODY = 65_534;

/** Prints what the script sees of the home folder, and whether it can change Node. */
const LOOKS = `
import { readdirSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
const seen = folder => { try { return readdirSync(folder).sort(); } catch (error) { return error.code; } };
let wrote = 'changed';
try { writeFileSync(process.execPath, ''); } catch (error) { wrote = error.code; }
const child = execFileSync('node', ['-p', 'process.execPath'], { encoding: 'utf8' }).trim();
const home = process.argv[2];
const version = process.execPath.split('/').slice(0, -2).join('/');
console.log(JSON.stringify({ node: process.execPath, child, home: seen(home), nvm: seen(home + '/.nvm'), version: seen(version), wrote }));
(await import(process.env.PROCTOR_TOOL)).succeed();
`;

const users = [
  ['the current user', {}],
  ...(isRoot ? ([['an ordinary user', { uid: NOBODY }]] as const) : []),
] as const;

describe.runIf(missing.length === 0)('with Node in a home folder', () => {
  const looked = (home: Home, options: Parameters<Home['proctor']>[1] = {}): unknown => {
    home.file('looks.mjs', LOOKS);
    const ran = home.proctor(['run', 'script', 'looks.mjs', '--', home.folder], options);
    expect(ran.code, ran.stderr).toBe(0);
    return JSON.parse(ran.stdout);
  };

  test.each(users)('a script of %s runs on that Node, and sees nothing else of the home', (_, user) => {
    const home = new Home(NVM);
    home.file('../.nvm/versions/node/v20.1.0/README.md', '');
    home.file('../.nvm/alias', '');
    expect(looked(home, user)).toEqual({
      node: home.node,
      child: home.node,
      home: ['.nvm'],
      nvm: ['versions'],
      version: ['README.md', 'bin', 'lib'],
      wrote: 'EROFS',
    });
  });

  test('a script runs on a Node that only its owner can read', () => {
    const home = new Home(NVM, 0o700);
    expect(looked(home)).toMatchObject({ node: home.node, child: home.node, home: ['.nvm'] });
  });

  // The sandbox is tested for folders such as /home before every run.
  test.runIf(isRoot)('a script runs on a Node below /var, and sees nothing else there', () => {
    const home = new Home(NVM, 0o755, '/var/tmp');
    home.file(
      'lists.mjs',
      "import { readdirSync } from 'node:fs';\nconsole.log(readdirSync('/var').join(), readdirSync('/var/tmp').length);\n",
    );
    const { stdout, stderr } = home.proctor(['run', 'script', 'lists.mjs']);
    expect(stdout, stderr).toBe('tmp 1\n');
  });

  test('a script sees only Node in ~/bin, if Node is directly there', () => {
    const home = new Home('bin/node');
    home.file('../bin/other', '', 0o755);
    expect(looked(home)).toMatchObject({ node: home.node, home: ['bin'], version: ['bin'] });
  });

  test('a script may name an interpreter in any folder, and sees nothing else there', () => {
    const home = new Home(NVM);
    const bash = home.program('tools/bin/bash', '/bin/bash');
    home.file('named.sh', `#!${bash}\necho "$BASH"; ls ${home.folder} ${home.folder}/tools\n`, 0o755);
    home.file('../tools/private.txt', '');
    const { stdout, stderr } = home.proctor(['run', 'script', 'named.sh']);
    expect(stdout, stderr).toBe(
      `${bash}\n${home.folder}:\n.nvm\ntools\n\n${home.folder}/tools:\nbin\n`.replace('.nvm\n', ''),
    );
  });
});
