import { Fault } from '../../base/fault.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { isRefName } from './bundle-header.ts';
import { sourceAt, type SourceRepository } from './clone-source.ts';
import { askGit } from './git.ts';

/** A commit with its history, as a git bundle that needs no other objects. */
export interface TreeBundle {
  readonly commit: string;
  readonly sha256: ContentHash;
  readonly bytes: Buffer;
}

/** Bundles the commit of a folder for another machine. Throws if the folder is more than what a bundle can carry. */
export async function treeBundle(folder: string, base: string | undefined, bytesMax: number): Promise<TreeBundle> {
  const source = await sourceAt(folder, base);
  if (!source)
    throw new Fault(
      'not_queueable',
      'Workers get the folder of an agent as commits, and this one is not in a git repository. Commit its files, or run the suite without --queue.',
    );
  if (source.below !== '.')
    throw new Fault(
      'not_queueable',
      'On workers, an agent starts at the top of its repository. Name that folder with --dir, or run the suite without --queue.',
    );
  if (source.isShallow)
    throw new Fault(
      'not_queueable',
      'The repository is a shallow clone, so it has no complete history for the workers. Run git fetch --unshallow first.',
    );
  const pack = await packOf(source, bytesMax);
  const bytes = Buffer.concat([Buffer.from(headerOf(source)), pack]);
  if (bytes.length > bytesMax) throw tooLarge(bytesMax);
  return { commit: source.head, sha256: bytesHash(bytes), bytes };
}

/** One thread, so that the same objects give the same bytes. */
async function packOf({ gitDir, head }: SourceRepository, bytesMax: number): Promise<Buffer> {
  const args = ['pack-objects', '--quiet', '--revs', '--threads=1', '--stdout'];
  const asking = { gitDir, input: `${head}\n`, timeoutMs: PACK_MS, bytesMax };
  const { code, stdout, stderr } = await askGit(args, asking).catch((cause: unknown) => {
    throw cause instanceof Fault && cause.code === 'git_failed' ? tooLarge(bytesMax, cause) : cause;
  });
  if (code === 0) return stdout;
  throw new Fault('usage', 'The repository cannot be sent, because some of its objects are not on this machine.', {
    cause: stderr,
  });
}

const PACK_MS = 600_000;

function tooLarge(bytesMax: number, cause?: unknown): Fault {
  return new Fault(
    'not_queueable',
    `With its history, the repository is larger than ${bytesMax / 1024 ** 2} MiB, the most that workers take. Run the suite without --queue.`,
    { cause },
  );
}

/** The current branch travels too, because an agent sees its name. */
function headerOf({ format, head, branch }: SourceRepository): string {
  const name = `refs/heads/${branch}`;
  const lines = [
    ...(format === 'sha1' ? ['# v2 git bundle'] : ['# v3 git bundle', '@object-format=sha256']),
    `${head} HEAD`,
    ...(branch !== undefined && isRefName(name) ? [`${head} ${name}`] : []),
  ];
  return `${lines.join('\n')}\n\n`;
}
