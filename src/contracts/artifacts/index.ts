export { assetsManifest } from './assets-manifest.ts';
export { caseArtifact } from './case.ts';
export { caseFailureExample } from './case-examples.ts';
export type { CaseArtifact } from './case-shape.ts';
export { failureMeta } from './failure-meta.ts';
export { runArtifact } from './run.ts';
