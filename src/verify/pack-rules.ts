import type { FolderRule } from './folder-rules.ts';

/** The rules of a pack, beyond those of the folder in it; PK13, of pack.json alone, stands with its contract. */
export const PK = {
  PK1: {
    id: 'PK1',
    title: 'Required Files',
    why: 'A pack is taken for a whole run. What it must hold cannot be left out of it.',
    asks: [
      'it holds pack.json and folder/evidence/seal.json, which can be read',
      'the folder holds the document of its kind: result.json of a script or an agent, run.json of a suite or an intent',
      'an entry that pack.json lists as unsealed is there',
    ],
  },
  PK2: {
    id: 'PK2',
    title: 'Unknown Files',
    why: 'A file that neither the seal nor the pack names was put there by nobody who answers for it.',
    asks: [
      'beside folder/ there are pack.json and, perhaps, ledger-line.json, and nothing else',
      'every file in folder/ is named by the seal, or is the seal, evaluation.json, evidence/evaluation.json or the seal of one',
      'the folder of a script holds result.json, output/ and evidence/; that of a suite JSON, assets/ and evidence/',
      'the folder of an intent holds run.json, bundle.json, policy.json, intent.json, model_io.json, output/ and evidence/',
    ],
  },
  PK3: {
    id: 'PK3',
    title: 'Run Schema',
    why: 'What a run came to is said in one document, and everybody reads that one first.',
    asks: [
      'the document of its kind keeps its contract: script-result, agent-result, run or run-result',
      'the run that it names is the one that was sealed',
    ],
  },
  PK4: {
    id: 'PK4',
    title: 'Bundle',
    why: 'A run of an intent that names a bundle decided about that bundle; without it nobody can look.',
    asks: [
      'where run.json of an intent names a bundle, bundle.json is there and keeps its contract',
      'where it names none, there is no bundle.json',
    ],
  },
  PK5: {
    id: 'PK5',
    title: 'Run To Bundle',
    why: 'The decision holds for one bundle, byte for byte, and for no other.',
    asks: ['bundle.sha256 in run.json is the content hash of bundle.json'],
  },
  PK6: {
    id: 'PK6',
    title: 'No Links',
    why: 'A link leads to a file of whoever unpacks it.',
    asks: ['no entry is a symbolic or a hard link'],
  },
  PK7: {
    id: 'PK7',
    title: 'No Path Traversal',
    why: 'A pack is unpacked by people who trust it, on systems that take other names for the same.',
    asks: [
      'every name is relative, in its shortest form, of at most 4,096 bytes, without .. or control characters',
      'no two names differ only in upper and lower case or in how a letter is composed',
      'no name is that of a file and of a folder',
    ],
  },
  PK8: {
    id: 'PK8',
    title: 'Other Documents Valid',
    why: 'A document need not be there; one that is there and breaks its contract misleads.',
    asks: [
      'every other document keeps its contract: runner.json, policy.json, evaluation.json and evaluation.seal.json among them',
      'evaluation.json and its seal keep JS6 to JS9',
    ],
  },
  PK9: {
    id: 'PK9',
    title: 'Ledger Line',
    why: 'The ledger says when a run was sealed among all others; the line of another run says nothing of this one.',
    asks: [
      'ledger-line.json, if there is one, holds one line of canonical JSON with its line feed, which keeps its contract',
      'run_id, kind and sealed_at are those of the seal, and seal_sha256 is the hash of folder/evidence/seal.json',
      'what it says of an intent is what run.json says, and the mode is that of the request',
    ],
  },
  PK10: {
    id: 'PK10',
    title: 'Violations Sorted',
    why: 'Two people who verify one pack must be able to compare what they were told.',
    asks: ['it binds the verifier: violations come by rule number, then path, then message, on every machine'],
  },
  PK11: {
    id: 'PK11',
    title: 'Meta Ignored',
    why: 'Who packed a file, when and with which rights says nothing of a run, and would make two packs of it differ.',
    asks: ['every entry has mode 0644, time 0, user and group 0, and no name of an owner'],
  },
  PK12: {
    id: 'PK12',
    title: 'Regular Files',
    why: 'Devices, pipes and sparse files mean something else on every machine, and folders follow from the names.',
    asks: ['every entry is a regular file'],
  },
  PK14: {
    id: 'PK14',
    title: 'Pack Agrees',
    why: 'No seal covers pack.json, so every word of it must follow from what a seal or a hash does cover.',
    asks: [
      'run_id and kind are those of the seal, and seal_sha256 is the hash of folder/evidence/seal.json',
      'unsealed lists exactly the entries that the seal does not name, each with its hash and size',
      'left_out lists exactly the sealed files that are not here: all of evidence/internal/, or nothing',
    ],
  },
  PK15: {
    id: 'PK15',
    title: 'One Form Only',
    why: 'Where two archives hold the same, a change can hide in how they differ. So there is one way to write each pack.',
    asks: [
      'it is a ustar archive, not compressed, of at most 500,000 entries, sorted by UTF-16 code unit, none twice',
      'only a path that is not ASCII or too long for ustar has an extended header, which holds that path alone',
      'checksums are right, sizes are those of the files, and everything around them is empty',
      'it ends with two empty blocks and nothing after them',
      'pack.json is canonical JSON',
    ],
  },
} as const;

export const packRules: readonly FolderRule[] = Object.values(PK);
