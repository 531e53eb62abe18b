/** The picture in the README: `scripts/picture.ts` writes it, `tests/docs.test.ts` checks it. */
export const PICTURE = { file: 'docs/report.png', width: 1280, height: 720, scale: 1.25, bytesMax: 250_000 } as const;
