/** Rules for a ledger and its runs. LD1 to LD7 concern single lines and are part of their contract. */
export const LD = {
  LD8: {
    id: 'LD8',
    title: 'Line Of Its Run',
    why: 'If someone changes a run and seals it again, its ledger line still names the old seal.',
    asks: [
      'if the folder of a run is in runs/ next to ledger.ndjson, its line has the hash of its seal',
      'the folder is named after the run in its seal',
      'kind and sealed_at match the seal, and intent matches run.json',
      'a run folder that is verified alone is compared with its line, if it has one',
    ],
  },
  LD9: {
    id: 'LD9',
    title: 'No Run Missing',
    why: 'The last line of a ledger has no later line to protect it. The sealed run folders protect it while they exist.',
    asks: [
      'every sealed run in runs/ next to ledger.ndjson has a line; a run older than the first line should have one',
      'a run that still has its journal needs no line yet; a line whose run no longer exists is allowed',
    ],
  },
} as const;
