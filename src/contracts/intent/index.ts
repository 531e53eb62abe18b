export { bundle, type Bundle } from './bundle.ts';
export { bundleIdOf, idOf, sandboxIdOf } from './ids.ts';
export { intent, type Intent } from './intent.ts';
export { modelIo, type ModelIo } from './model-io.ts';
export { intentOutcome, type IntentOutcome } from './outcome.ts';
export {
  type AcceptCheck,
  foldersAbove,
  isFolderPath,
  isShownCommand,
  isBelowRoots,
  LIMIT_NAMES,
  shownCommand,
} from './parts.ts';
export { argvOf, intentPlan } from './plan.ts';
export { intentRequest, type IntentRequest } from './request.ts';
