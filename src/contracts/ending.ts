/** Why we stopped a program. */
export type StoppedBy = 'timeout' | 'idle' | 'cpu' | 'cancel' | 'policy';

/**
 * How a program ended, as one value. The words of every format, from exit codes to terminations, are made of it.
 *
 * `signalled` only where the wait status says so: seen through a wrapper, 128 + n may as well be the program's own code.
 * `lost` is our failure: we died while the program ran, and so did it.
 */
export type Ending =
  | { readonly how: 'exited'; readonly code: number }
  | { readonly how: 'signalled'; readonly signal: string }
  | { readonly how: 'killed'; readonly by: StoppedBy; readonly signal: string }
  | { readonly how: 'out_of_memory'; readonly code: number }
  | { readonly how: 'not_started'; readonly code: number }
  | { readonly how: 'lost' };
