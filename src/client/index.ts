/** A client for the API of `proctor serve`. It needs only `fetch`, and every wait and size has a limit. */
export { Fault } from '../base/fault.ts';
export { ProctorClient } from './client.ts';
export type {
  CaseListAnswer,
  ClientOptions,
  FileToPublish,
  OrderState,
  PublishedAnswer,
  RunAnswer,
  RunListAnswer,
  ScriptsAnswer,
  ScriptVersionsAnswer,
  AnswersToSend,
  IntentToStart,
  QuestionsAnswer,
  QueueAnswer,
  ServerEvent,
  SuiteToStart,
} from './answers.ts';
