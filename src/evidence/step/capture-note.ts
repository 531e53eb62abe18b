import type { Capture, KeptStream } from '../../contracts/capture.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';

/** A capture without the bytes, which are stored in separate files. */
export interface CaptureNote extends Omit<Capture, 'stdout' | 'stderr'> {
  readonly stdout: StreamNote;
  readonly stderr: StreamNote;
}

export type StreamNote = Omit<KeptStream, 'head' | 'tail'> & { readonly bytesKept: number };

export type StoredStreams = Readonly<Record<'stdout' | 'stderr', Uint8Array>>;

export type Stored = Pick<SealedFile, 'sha256' | 'bytes'>;
