import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import type { SuiteReply } from '../../../src/contracts/suite/index.ts';
import { finish } from '../../../src/evidence/run-folder/finish.ts';
import { storedFiles } from '../../../src/evidence/run-folder/sealed-files.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { verify } from '../../../src/verify/index.ts';
import { expectValid } from '../../run/suite/support.ts';
import { temporaryFolder } from '../../support/support.ts';
import { KINDS } from './kinds.ts';
import { ranKind } from './world.ts';

afterAll(closeLauncher);

const REPLIES = 'assets/replies.ndjson';

test.each(KINDS.map(kind => [kind.name, kind] as const))(
  'a changed case or reply of %s is detected, even under a new seal',
  async (_, kind) => {
    const { folder } = await ranKind(kind, { open: { text: 'Q' } });
    const untouched = copied(folder);
    await reseal(untouched);
    await expectValid(untouched);

    const edited = copied(folder);
    editCase(edited, ({ final_output: output }) => ({ final_output: { ...output, content: 'R' } }));
    await reseal(edited);
    expect(await rulesBroken(edited)).toContain('FD14');

    const flipped = copied(folder);
    editReply(flipped, body => body.replaceAll('"Q"', '"R"'));
    await reseal(flipped);
    expect(await rulesBroken(flipped)).toContain('FD14');
  },
);

function copied(folder: string): string {
  const copy = path.join(temporaryFolder(), path.basename(folder));
  cpSync(folder, copy, { recursive: true });
  return copy;
}

function editCase(folder: string, change: (artifact: CaseArtifact) => object): void {
  const file = path.join(folder, 'open.json');
  const artifact = JSON.parse(readFileSync(file, 'utf8')) as CaseArtifact;
  writeFileSync(file, canonicalize({ ...artifact, ...change(artifact) }));
}

/** Changes the stored reply, and every hash of it that the run contains. */
function editReply(folder: string, change: (body: string) => string): void {
  const file = path.join(folder, REPLIES);
  const reply = JSON.parse(readFileSync(file, 'utf8')) as SuiteReply;
  const body = change(reply.body ?? '');
  expect(body).not.toBe(reply.body);
  const sha256 = bytesHash(body);
  writeFileSync(file, `${JSON.stringify({ ...reply, body, sha256, bytes: Buffer.byteLength(body) })}\n`);
  editCase(folder, ({ attempts = [] }) => ({ attempts: attempts.map(one => ({ ...one, reply_sha256: sha256 })) }));
}

/** Writes the manifest and the seal again, as a forger without a key can. */
async function reseal(folder: string): Promise<void> {
  const manifest = path.join(folder, 'assets', 'manifest.json');
  const stated = JSON.parse(readFileSync(manifest, 'utf8')) as { items: { href: string }[] };
  for (const item of stated.items) {
    const bytes = readFileSync(path.join(folder, item.href));
    Object.assign(item, { size_bytes: bytes.length, sha256: bytesHash(bytes) });
  }
  writeFileSync(manifest, canonicalize(stated));
  for (const judgement of JUDGEMENT) rmSync(path.join(folder, judgement), { force: true });
  rmSync(path.join(folder, 'evidence', 'seal.json'));
  await finish(folder, {
    runId: path.basename(folder),
    kind: 'suite',
    documents: [],
    stored: storedFiles([]),
    passing: [],
    sealedAtMs: Date.parse('2026-01-06T12:00:10.000Z'),
    signer: undefined,
  });
}

/** A judgement rests on the hashes of the cases, so a forger leaves it out. */
const JUDGEMENT = ['evaluation.json', 'evaluation.seal.json'];

async function rulesBroken(folder: string): Promise<string[]> {
  const broken: string[] = [];
  for await (const { violations } of verify([folder], { strict: true })) {
    broken.push(...violations.map(({ rule_id }) => rule_id));
  }
  return broken;
}
