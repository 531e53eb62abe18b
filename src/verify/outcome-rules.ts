/** Rules for the attempts of workers. WO1 to WO5 concern the outcome alone and are part of its contract. */
export const WO = {
  WO6: {
    id: 'WO6',
    title: 'Attempts Vouched For',
    why: 'In a run with many machines, each attempt counts only because the worker that made it vouches for it.',
    asks: [
      'if evidence/request.json says queued, every attempt has outcome_sha256, except a runner_error of error_class other, such as a lost worker',
      'outcome_sha256 is the hash of exactly one line of assets/outcomes.ndjson, and every line belongs to one attempt',
      'the outcome has the run, case, number, worker, start, latency, status and failure of that attempt',
      'its reply is the stored reply of the attempt, and its body is the stored body',
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
} as const;
