/** Rules for the attempts of workers. WO1 to WO5 concern the outcome alone and are part of its contract. */
export const WO = {
  WO6: {
    id: 'WO6',
    title: 'Attempts Vouched For',
    why: 'In a run with many machines, each attempt counts only because the worker that made it vouches for it.',
    asks: [
      'if evidence/request.json says queued, every attempt has outcome_sha256, except a runner_error of error_class other, such as a lost worker',
      'outcome_sha256 is the hash of exactly one line of assets/outcomes.ndjson, and every line without again belongs to one attempt',
      'the outcome has the run, case, number, worker, start, latency, status and failure of that attempt',
      'its reply is the stored reply of the attempt, and its body is the stored body',
      'its run, if it has one, is the run_id of the attempt, and without one there is no run_id',
      'its target_sha256 is that of evidence/request.json, and its case_sha256 is the content hash of the case',
      'without queued in evidence/request.json, there is no outcome',
    ],
  },
  WO7: {
    id: 'WO7',
    title: 'Outcome Signed',
    why: 'Without a signature, anyone who can write to the queue could have made the outcome up.',
    asks: [
      'every outcome is signed',
      'with --key: one of the given keys has signed it, with a valid Ed25519 signature in standard base64',
      'with --revoked: no revoked key has signed it; the finding names the case that rests on it',
    ],
  },
  WO8: {
    id: 'WO8',
    title: 'Made By Two Workers',
    why: 'A worker can lie about its own attempts. Only a second worker with another key can contradict it.',
    asks: [
      'evidence/twice.json exists if and only if evidence/request.json has twice; both have the same run and share',
      'its cases are those that the share and the salt select, in the order of assets/cases.ndjson',
      'first is the outcome of the attempt that ended the case; it is null only if no worker signed that attempt',
      'second is an outcome of the same attempt of the same run, with the number in again; every outcome with again is named',
      'public_key of each side has signed its outcome, with a valid Ed25519 signature',
      'reply has the bytes that the second worker signed; it is null if the first received the same bytes',
      'outcome and text in differs follow from the two outcomes and replies, which the verifier reads again',
      'verdict is not in differs if both replies are the same',
    ],
  },
} as const;
