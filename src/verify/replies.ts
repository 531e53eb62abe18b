import path from 'node:path';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { type SuiteReply, type SuiteRequest, suiteRequest } from '../contracts/suite/index.ts';
import { soundDocument } from '../evidence/document.ts';
import {
  answerDifferences,
  type ProvenAnswer,
  type ReplyProof,
  replyProof,
  statedAnswer,
} from '../targets/answer-proof.ts';
import { FOLDER_RULES } from './folder-rules.ts';
import { type Inspector, mustFinding, type Surroundings } from './inspector.ts';

interface StatedAnswer extends ProvenAnswer {
  readonly file: string;
  readonly attempt: number;
}

/** FD14: reads every stored reply again and compares the result with the case. */
export function replyInspector({ bytesOf, troubled, report }: Surroundings): Inspector {
  const runs = new Map<string, ReplyProof | undefined>();
  const stated = new Map<string, Map<string, StatedAnswer>>();
  const proven = new Map<string, Map<string, ProvenAnswer>>();

  const runIn = (folder: string): ReplyProof | undefined => {
    if (!runs.has(folder)) runs.set(folder, proofOf(bytesOf(path.posix.join(folder, 'evidence/request.json'))));
    return runs.get(folder);
  };

  return {
    take({ file, contract, value }) {
      if (contract.name === 'suite-reply') {
        const folder = path.posix.dirname(path.posix.dirname(file));
        const prove = runIn(folder);
        const reply = value as SuiteReply;
        const body =
          reply.href === undefined ? Buffer.from(reply.body ?? '') : bytesOf(path.posix.join(folder, reply.href));
        if (prove && body) within(proven, folder).set(`${reply.case_id}/${reply.attempt}`, prove(reply, body));
      }
      if (contract.name === 'case') {
        const artifact = value as CaseArtifact;
        if (artifact.status !== 'ok') return;
        const attempt = artifact.attempts?.length ?? 0;
        within(stated, path.posix.dirname(file)).set(artifact.case_id, { ...statedAnswer(artifact), file, attempt });
      }
    },

    end() {
      for (const [folder, cases] of stated) {
        if (troubled.has(path.posix.join(folder, 'evidence/request.json')) || !runIn(folder)) continue;
        const replies = proven.get(folder);
        for (const [id, { file, attempt, ...answer }] of cases) {
          const found = replies?.get(`${id}/${attempt}`);
          if (!found) report({ rule: FOLDER_RULES.FD14.id, level: 'must', file, message: 'has no stored reply' });
          else
            for (const [at, message] of answerDifferences(answer, found))
              report(mustFinding(FOLDER_RULES.FD14.id, file, at, message));
        }
      }
    },
  };
}

function proofOf(bytes: Buffer | undefined): ReplyProof | undefined {
  const request = bytes && (soundDocument(bytes, suiteRequest) as SuiteRequest | undefined);
  return request && replyProof(request);
}

function within<Value>(map: Map<string, Map<string, Value>>, folder: string): Map<string, Value> {
  let inner = map.get(folder);
  if (!inner) map.set(folder, (inner = new Map()));
  return inner;
}
