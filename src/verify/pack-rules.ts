import type { FolderRule } from './folder-rules.ts';

/**
 * Rules for packs, in addition to those of the folder in it. PK13 concerns pack.json alone and is part of its
 * contract.
 */
export const PK = {
  PK1: {
    id: 'PK1',
    title: 'Required Files',
    why: 'A pack stands for a complete run, so required files must not be missing.',
    asks: [
      'it contains a readable pack.json and folder/evidence/seal.json',
      'the folder contains the main document of its kind: result.json for scripts and agents, run.json for suites and intents',
      'every entry that pack.json lists as unsealed exists',
    ],
  },
  PK2: {
    id: 'PK2',
    title: 'Unknown Files',
    why: 'A file that neither the seal nor the pack lists has no known origin.',
    asks: [
      'next to folder/ there is only pack.json and, optionally, ledger-line.json',
      'the seal lists every file in folder/, except the seal, evaluation.json, evidence/evaluation.json and their seals',
      'the folder of a script contains result.json, output/ and evidence/; that of a suite contains JSON files, assets/ and evidence/',
      'the folder of an intent contains run.json, bundle.json, policy.json, intent.json, model_io.json, output/ and evidence/',
    ],
  },
  PK3: {
    id: 'PK3',
    title: 'Run Schema',
    why: 'One document states the result of a run, and every reader starts with it.',
    asks: [
      'the main document satisfies its contract: script-result, agent-result, run or run-result',
      'it names the run that was sealed',
    ],
  },
  PK4: {
    id: 'PK4',
    title: 'Bundle',
    why: 'The decision of an intent run applies to the bundle that it names. Without the bundle, it cannot be checked.',
    asks: [
      'if run.json of an intent names a bundle, bundle.json exists and satisfies its contract',
      'if it names none, there is no bundle.json',
    ],
  },
  PK5: {
    id: 'PK5',
    title: 'Run To Bundle',
    why: 'The decision applies to one bundle, byte for byte.',
    asks: ['bundle.sha256 in run.json is the content hash of bundle.json'],
  },
  PK6: {
    id: 'PK6',
    title: 'No Links',
    why: 'A link would point to a file on the machine that unpacks it.',
    asks: ['no entry is a symbolic or a hard link'],
  },
  PK7: {
    id: 'PK7',
    title: 'No Path Traversal',
    why: 'Users unpack packs on many systems, including some that treat different names as equal.',
    asks: [
      'every name is relative, normalised and at most 4,096 bytes long, without .. or control characters',
      'no two names differ only in case or in Unicode composition',
      'no name is both a file and a folder',
    ],
  },
  PK8: {
    id: 'PK8',
    title: 'Other Documents Valid',
    why: 'Other documents are optional, but one that violates its contract is misleading.',
    asks: [
      'every other document satisfies its contract, including runner.json, policy.json, evaluation.json and evaluation.seal.json',
      'evaluation.json and its seal satisfy JS6 to JS9',
    ],
  },
  PK9: {
    id: 'PK9',
    title: 'Ledger Line',
    why: 'The ledger records the order of all runs. The line of another run proves nothing about this one.',
    asks: [
      'ledger-line.json, if it exists, is one valid line of canonical JSON with a line feed',
      'run_id, kind and sealed_at match the seal, and seal_sha256 is the hash of folder/evidence/seal.json',
      'its intent matches run.json, and its mode matches the request',
    ],
  },
  PK10: {
    id: 'PK10',
    title: 'Violations Sorted',
    why: 'Two people who verify the same pack must be able to compare their reports.',
    asks: ['applies to the verifier: it sorts violations by rule number, then path, then message, on every machine'],
  },
  PK11: {
    id: 'PK11',
    title: 'Meta Ignored',
    why: 'The owner, time and permissions of a file say nothing about the run, and would make two packs differ.',
    asks: ['every entry has mode 0644, time 0, user and group 0, and no owner names'],
  },
  PK12: {
    id: 'PK12',
    title: 'Regular Files',
    why: 'Devices, pipes and sparse files mean something different on every machine, and folders follow from the file names.',
    asks: ['every entry is a regular file'],
  },
  PK14: {
    id: 'PK14',
    title: 'Pack Agrees',
    why: 'No seal covers pack.json, so all its content must follow from sealed or hashed content.',
    asks: [
      'run_id and kind match the seal, and seal_sha256 is the hash of folder/evidence/seal.json',
      'unsealed lists exactly the entries that the seal does not list, with their hashes and sizes',
      'left_out lists exactly the sealed files that the pack omits: all of evidence/internal/, or none',
    ],
  },
  PK15: {
    id: 'PK15',
    title: 'One Form Only',
    why: 'If two different archives could contain the same files, a change could hide in the difference. So each pack has one form.',
    asks: [
      'it is an uncompressed ustar archive of at most 500,000 entries, sorted by UTF-16 code unit, without duplicates',
      'only a path that is not ASCII or is too long for ustar has an extended header, which contains only that path',
      'checksums and sizes are correct, and padding and unused fields are empty',
      'it ends with two empty blocks and nothing after them',
      'pack.json is canonical JSON',
    ],
  },
} as const;

export const packRules: readonly FolderRule[] = Object.values(PK);
