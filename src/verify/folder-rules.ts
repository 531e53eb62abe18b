/** The rules that span the files of a folder. What each looks at is in folder.ts. */
export const FD = {
  FD1: {
    id: 'FD1',
    title: 'Entries Plain',
    why: 'Evidence is made of files and folders. A link, device or pipe means something else on every machine.',
  },
  FD2: {
    id: 'FD2',
    title: 'References Resolve',
    why: 'A document that points to a file which is not there has lost its evidence.',
  },
  FD3: {
    id: 'FD3',
    title: 'Hashes And Sizes Match',
    why: 'A file whose hash or size is stated must be that file, byte for byte.',
  },
  FD4: {
    id: 'FD4',
    title: 'Manifests Complete',
    why: 'A file that no manifest names was put there by nobody who answers for it.',
  },
  FD5: {
    id: 'FD5',
    title: 'No Path Of The Host',
    why: 'Evidence is shown to strangers; it must not tell where on which machine it was made, or by whom.',
  },
  FD6: {
    id: 'FD6',
    title: 'Names Agree',
    why: 'A case lies in the file of its own name, on the side of its own run, or it is not that case.',
  },
  FD7: {
    id: 'FD7',
    title: 'Cases Complete',
    why: 'Every case that a run selected left an artifact, also when it failed; a missing one is not a passed one.',
  },
} as const;

export interface FolderRule {
  readonly id: string;
  readonly title: string;
  readonly why: string;
}

export const folderRules: readonly FolderRule[] = Object.values(FD);
