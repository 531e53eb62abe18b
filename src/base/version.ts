declare const PROCTOR_VERSION: string | undefined;

/** The version of this software, which the build writes in. */
export const VERSION = typeof PROCTOR_VERSION === 'string' ? PROCTOR_VERSION : '0.0.0-source';
