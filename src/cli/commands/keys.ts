import path from 'node:path';
import { printable, printableJson } from '../../base/printable.ts';
import { newKey, signingKeyId } from '../../verbs/keys.ts';
import { stdout } from '../text/out.ts';
import { namedKey } from '../options/variables.ts';

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
    out === undefined
      ? "Proctor signs this project's runs with it."
      : `To sign with it, set PROCTOR_KEY=${printable(out)}`;
  stdout.write(
    [
      `key id       ${keyId}`,
      `private key  ${printable(privateName)}; keep it secret`,
      `public key   ${printable(publicName)}; share it with anyone who verifies`,
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
  else
    stdout.write(
      keyId === undefined
        ? 'Runs in this project are not signed. Run proctor keys new to create a key.\n'
        : `${keyId}\n`,
    );
  return 0;
}
