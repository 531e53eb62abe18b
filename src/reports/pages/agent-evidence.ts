import { sealOf } from '../../evidence/pack/pack.ts';
import type { AgentPageEvidence } from './agent-page-data.ts';
import type { AgentPageInput } from './agent-page.ts';
import { amount, asWords } from './page-words.ts';

/** The seal, the signer and the sealed files. Files in `evidence/internal/` are for operators, so they are left out. */
export function agentEvidence({ place, name, isWhole, keyIds, outcome, life }: AgentPageInput): AgentPageEvidence {
  const statement = life === 'finished' ? sealOf(place.folder)?.statement : undefined;
  const files = (statement?.subject ?? []).filter(({ name: file }) => !/(?:^|\/)internal\//.test(file));
  const { credentials, kinds } = outcome?.masking ?? {};
  const masked = Object.entries(kinds ?? {}).slice(0, KINDS_MAX);
  return {
    sealed: statement !== undefined,
    verifies: life === 'finished' && isWhole,
    signers: statement ? (keyIds?.slice(0, KEYS_MAX) ?? null) : null,
    folder: name,
    files: files.slice(0, FILES_MAX).map(({ name: file, annotations, digest }) => ({
      name: file,
      bytes: annotations.size_bytes,
      sha256: digest.sha256,
    })),
    filesTotal: files.length,
    masking: [
      ...masked.map(([kind, count]) => `${amount(count, 'place')} masked: ${asWords(kind)}.`),
      ...(credentials === 'kept' ? ['Credentials are stored unmasked, as requested.'] : []),
    ],
  };
}

const FILES_MAX = 200;
const KEYS_MAX = 20;
const KINDS_MAX = 20;
