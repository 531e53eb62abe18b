import path from 'node:path';
import { ProctorClient } from '../../client/client.ts';
import { Fault } from '../../base/fault.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { folderToSend } from '../../verbs/publish/folder-to-send.ts';
import { serverToken } from '../options/server-token.ts';
import { stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';
import { namedVersion, publishedText, type PublishFlags, scriptText } from './publish.ts';

/** Publishes, lists, withdraws and rolls back scripts on a server. */
export async function publishOnCommand(folder: string | undefined, flags: PublishFlags, url: string): Promise<number> {
  if (flags.try !== undefined || flags.set || flags.file)
    throw new Fault(
      'usage',
      'Proctor tries a script only on this machine. Omit --on, or run the script in the viewer.',
    );
  const client = new ProctorClient(url, { token: serverToken(flags.tokenFile) });
  const paint = paintFor(1);
  const print = (value: object, text: string): unknown => stdout.write(flags.json ? `${printableJson(value)}\n` : text);
  if (folder !== undefined) {
    const view = await published(client, path.resolve(folder), flags.draft === true);
    const page = new URL(`/scripts/${encodeURIComponent(view.name)}`, url).href;
    print(view, publishedText(view, printable(page), paint));
  } else if (flags.list) {
    const { all } = await client.scripts();
    if (!all) throw new Fault('role_too_low', 'This needs the role runner.');
    const text = all.length === 0 ? 'The server has no scripts.\n' : all.map(one => scriptText(one, paint)).join('');
    print({ scripts: all }, text);
  } else {
    const changed =
      flags.withdraw === undefined ? await client.rollBack(flags.rollback as string) : await withdrawn(client, flags);
    print(changed, scriptText(changed, paint));
  }
  return 0;
}

async function published(client: ProctorClient, folder: string, draft: boolean) {
  const { files, digest } = folderToSend(folder);
  const view = await client.publish(files, { draft });
  if (view.digest !== digest)
    throw new Fault('other_digest', 'The server stored files that differ from this folder. Withdraw the version.');
  return view;
}

function withdrawn(client: ProctorClient, { withdraw = '' }: PublishFlags) {
  const { name, version } = namedVersion(withdraw);
  return client.withdraw(name, version);
}
