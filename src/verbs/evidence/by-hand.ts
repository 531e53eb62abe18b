import { pastedWord } from '../../base/shell.ts';

/**
 * The commands of docs/evidence.md for one run. They need sha256sum and openssl, and no Proctor. Null if no shell can
 * name the folder.
 */
export function byHand(run: string, isSigned: boolean): string | null {
  const word = pastedWord(run);
  if (word === undefined) return null;
  const key = isSigned ? 'KEY=signing.pub\n' : '';
  const last = `echo "No file has changed since it was ${isSigned ? 'signed' : 'sealed'}."\n`;
  return `RUN=${word}\n${key}${STATEMENT}${isSigned ? SIGNATURE : ''}${FILES}${last}`;
}

const STATEMENT = String.raw`set -eu
here=$(mktemp -d)
sed -n 's/^{"payload":"\([^"]*\)".*/\1/p' "$RUN/evidence/seal.json" | base64 -d > "$here/statement.json"
`;

const SIGNATURE = String.raw`sed -n 's/.*"sig":"\([^"]*\)".*/\1/p' "$RUN/evidence/seal.json" | base64 -d > "$here/signature"
printf 'DSSEv1 28 application/vnd.in-toto+json %s ' "$(wc -c < "$here/statement.json")" > "$here/signed"
cat "$here/statement.json" >> "$here/signed"
openssl pkeyutl -verify -pubin -inkey "$KEY" -rawin -in "$here/signed" -sigfile "$here/signature"
`;

const FILES = String.raw`grep -o '"sha256":"[0-9a-f]*"},"name":"[^"]*"' "$here/statement.json" |
  sed 's/^"sha256":"\([0-9a-f]*\)"},"name":"\(.*\)"$/\1  \2/' > "$here/files"
cd "$RUN"
sha256sum --check --strict --quiet "$here/files"
sed 's/^[0-9a-f]*  //' "$here/files" | LC_ALL=C sort > "$here/named"
find . -type f ! -path ./evidence/seal.json ! -path ./evaluation.json ! -path ./evaluation.seal.json \
  ! -path ./evidence/evaluation.json ! -path ./evidence/evaluation.seal.json |
  sed 's|^\./||' | LC_ALL=C sort > "$here/found"
diff "$here/named" "$here/found"
test -z "$(find . ! -type f ! -type d)"
`;
