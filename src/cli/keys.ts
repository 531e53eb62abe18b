import path from 'node:path';
import { printable, printableJson } from '../base/printable.ts';
import { newKey, signingKeyId } from '../tool/keys.ts';
import { stdout } from './out.ts';
import { namedKey } from './variables.ts';

export async function newKeyCommand({ out, json }: { out?: string; json?: true }): Promise<number> {
  const { keyId, privateFile, publicFile } = newKey(process.cwd(), out);
  const [privateName, publicName] = [privateFile, publicFile].map(file => path.relative(process.cwd(), file)) as [
    string,
    string,
  ];
  if (json) {
    stdout.write(`${printableJson({ key_id: keyId, private_key: privateName, public_key: publicName })}\n`);
    return 0;
  }
  const isUsed =
    out === undefined ? 'Runs of this place are signed with it.' : `To sign with it: PROCTOR_KEY=${printable(out)}`;
  stdout.write(
    [
      `key id       ${keyId}`,
      `private key  ${printable(privateName)}, which stays here and secret`,
      `public key   ${printable(publicName)}, for everybody who verifies`,
      '',
      isUsed,
      `To verify: proctor verify latest --key ${printable(publicName)} --require-signature`,
      '',
    ].join('\n'),
  );
  return 0;
}

export async function showKeyCommand({ json }: { json?: true }): Promise<number> {
  const keyId = signingKeyId(process.cwd(), namedKey().signingKey);
  if (json) stdout.write(`${printableJson({ key_id: keyId ?? null })}\n`);
  else stdout.write(keyId === undefined ? 'Runs here are not signed. proctor keys new makes a key.\n' : `${keyId}\n`);
  return 0;
}
