/** The limits of live views. Tests shorten them. */
export interface LiveLimits {
  /** The time between two frames. */
  readonly frameMs: number;
  /** A viewer with more bytes waiting is cut off. It reconnects where it was. */
  readonly waitingBytesMax: number;
  readonly beatMs: number;
  /** How many heartbeats a viewer may take to read what waits. */
  readonly waitingBeatsMax: number;
  /** Memory for recent events, in UTF-16 units: of a run, and of all runs. */
  readonly ringUnits: number;
  readonly ringsUnits: number;
}

export const LIVE_LIMITS: LiveLimits = {
  frameMs: 250,
  waitingBytesMax: 1024 * 1024,
  beatMs: 15_000,
  waitingBeatsMax: 4,
  ringUnits: 4 * 1024 * 1024,
  ringsUnits: 64 * 1024 * 1024,
};
