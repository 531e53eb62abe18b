declare const PROCTOR_VERSION: string | undefined;

/** Set by the build. */
export const VERSION = typeof PROCTOR_VERSION === 'string' ? PROCTOR_VERSION : '0.0.0-source';
