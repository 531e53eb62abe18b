/** Rules for files that expired. EX1 to EX4 concern the note alone and are part of its contract. */
export const EX = {
  EX5: {
    id: 'EX5',
    title: 'Expired From This Run',
    why: 'A note about another run, or about other bytes, must not excuse a missing file.',
    asks: [
      'evidence/expired.json is next to evidence/seal.json, and names its run_id and its hash',
      'the seal lists every file of the note, with the same digest and size',
      'a file of the note that is missing is not reported as missing; the verdict lists it as not checked',
    ],
  },
  EX6: {
    id: 'EX6',
    title: 'Expired With A Key Of The Run',
    why: 'Otherwise anyone could remove a file from signed evidence and explain it away.',
    asks: ['if evidence/seal.json is signed, evidence/expired.json is signed only with keys that also signed the seal'],
  },
} as const;
