import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SourceRepository } from './clone-source.ts';
import type { Asking } from './git.ts';

/** The branch of a repository that Proctor makes. */
export const BASE_BRANCH = 'main';

export function makeGitDir(
  tree: string,
  made: { format: 'sha1' | 'sha256'; branch: string; refs: readonly string[]; baseSha: string },
): string {
  const gitDir = path.join(tree, '.git');
  const { format, branch, refs, baseSha } = made;
  writeGitDir(gitDir, branch, configFor(format));
  // Written directly, because git would look for the commit, whose objects do not exist yet.
  writeFileSync(path.join(gitDir, 'packed-refs'), packedRefs(refs, baseSha));
  return gitDir;
}

/** Writes a minimal git folder. `git init` would take as long as all other git commands together. */
export function writeGitDir(gitDir: string, branch: string, config: string): void {
  for (const folder of ['objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    mkdirSync(path.join(gitDir, folder), { recursive: true });
  writeFileSync(path.join(gitDir, 'config'), config);
  writeFileSync(path.join(gitDir, 'HEAD'), `ref: refs/heads/${branch}\n`);
}

export function packedRefs(refs: readonly string[], baseSha: string): string {
  const lines = [...refs].sort(byBytes).map(ref => `${baseSha} ${ref}\n`);
  return `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`;
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The configuration of every clone: commits work, and git removes no object that Proctor needs later. */
export function configFor(format: 'sha1' | 'sha256'): string {
  return [
    ...coreFor(format, false),
    '[user]',
    '\tname = proctor-agent',
    '\temail = agent@proctor.invalid',
    '[gc]',
    '\tauto = 0',
    '',
  ].join('\n');
}

export function coreFor(format: 'sha1' | 'sha256', isBare: boolean): string[] {
  const isPlain = format === 'sha1';
  return [
    '[core]',
    `\trepositoryformatversion = ${isPlain ? 0 : 1}`,
    '\tfilemode = true',
    `\tbare = ${isBare}`,
    ...(isBare ? [] : ['\tlogallrefupdates = true']),
    ...(isPlain ? [] : ['[extensions]', `\tobjectformat = ${format}`]),
  ];
}

/** Creates a bare git folder that reads the user's objects and ignores all attributes. */
export function makeTrusted(trusted: string, source: Pick<SourceRepository, 'format' | 'objects'> | undefined): void {
  writeGitDir(trusted, BASE_BRANCH, `${coreFor(source?.format ?? 'sha1', true).join('\n')}\n`);
  mkdirSync(path.join(trusted, 'info'));
  writeFileSync(path.join(trusted, 'info', 'attributes'), ATTRIBUTES_OFF);
  if (source) writeFileSync(path.join(trusted, 'objects', 'info', 'alternates'), `${JSON.stringify(source.objects)}\n`);
}

const ATTRIBUTES_OFF =
  '* !text !eol !crlf !ident !filter !diff !merge !whitespace !working-tree-encoding !conflict-marker-size\n';

/** Git in Proctor's folder with the index of a clone. */
export function indexed(trusted: string, gitDir: string): Asking {
  return { gitDir: trusted, env: { GIT_INDEX_FILE: path.join(gitDir, 'index') }, timeoutMs: CHECKOUT_MS };
}

const CHECKOUT_MS = 600_000;
