/** Why Proctor stopped a program. */
export type StoppedBy = 'timeout' | 'idle' | 'cpu' | 'cancel' | 'policy';

/**
 * How a program ended. Exit codes, terminations and the terms of every other format are derived from it.
 *
 * `signalled` requires a wait status that says so: behind a wrapper, 128 + n may be the program's exit code.
 * `lost` means that Proctor died while the program ran, and the program with it.
 */
export type Ending =
  | { readonly how: 'exited'; readonly code: number }
  | { readonly how: 'signalled'; readonly signal: string }
  | { readonly how: 'killed'; readonly by: StoppedBy; readonly signal: string }
  | { readonly how: 'out_of_memory'; readonly code: number }
  | { readonly how: 'not_started'; readonly code: number }
  | { readonly how: 'lost' };
