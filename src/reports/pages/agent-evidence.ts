import { sealOf } from '../../evidence/pack/pack.ts';
import type { AgentPageEvidence } from './agent-page-data.ts';
import type { AgentPageInput } from './agent-page.ts';
import { cutText } from './bounded.ts';
import { evidencePart } from './evidence-part.ts';
import { maskingPart } from './file-part.ts';

/** The seal, the signer and the sealed files. Files in `evidence/internal/` are for operators, so they are left out. */
export function agentEvidence(input: AgentPageInput): AgentPageEvidence {
  const { place, name, life, outcome } = input;
  const statement = life === 'finished' ? sealOf(place.folder)?.statement : undefined;
  const files = (statement?.subject ?? []).filter(({ name: file }) => !/(?:^|\/)internal\//.test(file));
  const listed = files.slice(0, FILES_MAX).map(({ name: file, annotations, digest }) => ({
    name: file,
    bytes: annotations.size_bytes,
    sha256: digest.sha256,
  }));
  return {
    ...evidencePart({ ...input, folder: place.folder }).evidence,
    folder: name,
    sealed: { shown: listed, total: files.length },
    masking: maskingPart(outcome?.masking),
    mounts: (outcome?.mounts ?? []).slice(0, MOUNTS_MAX).map(({ path, entries, bytes, sha256 }) => ({
      path: cutText(path, PATH_CHARS_MAX),
      entries,
      bytes,
      sha256,
    })),
  };
}

const FILES_MAX = 200;
const MOUNTS_MAX = 20;
const PATH_CHARS_MAX = 300;
