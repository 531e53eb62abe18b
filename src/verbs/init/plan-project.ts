import { readFileSync } from 'node:fs';
import { findInPackage } from '../../base/package-file.ts';
import { caseTexts } from './case-texts.ts';
import { interpreterFor, type FoundScript } from './find-scripts.ts';
import type { AgentName } from './look.ts';
import { type InitChoice, type PlannedFile, PROJECT, type ProjectPlan, type TargetPlan } from './plan.ts';
import { planApi } from './plan-api.ts';
import { projectText } from './project-text.ts';
import type { Survey } from './survey.ts';
import { AGENT_LIMITS, targetBlocks } from './target-blocks.ts';

/** Decides what to write. Writes nothing. */
export function planProject(choice: InitChoice, survey: Survey): ProjectPlan {
  const { what, target, cases, repeat, examples = [], notes, isGuessed = false } = targetPlan(choice, survey);
  const text = projectText({ name: choice.name, target, cases: CASES, repeat });
  return {
    what,
    notes,
    isGuessed,
    files: [
      { file: PROJECT, text, purpose: 'what to test, and when a test fails' },
      { file: CASES, text: cases, purpose: 'the first suite' },
      ...examples,
    ],
  };
}

const CASES = 'proctor/cases.yaml';

function targetPlan(choice: InitChoice, survey: Survey): TargetPlan {
  if (choice.kind === 'agent') return planAgent(choice.agent, survey);
  if (choice.kind === 'script') return choice.script ? planOwnScript(choice.script) : planExampleScript(survey);
  return planApi(choice.url, survey) ?? planExampleAgent(survey);
}

function planExampleAgent(survey: Survey): TargetPlan {
  const example = exampleFile('agent.mjs', survey, 'an example; its first lines say how to break it');
  return {
    what: 'an example agent',
    target: { name: 'agent', block: targetBlocks.example(example.file) },
    cases: caseTexts.example,
    repeat: 5,
    examples: [example],
    notes: [],
  };
}

function planExampleScript(survey: Survey): TargetPlan {
  const example = exampleFile('script.mjs', survey, 'an example; its first lines say how to break it');
  return {
    what: 'an example script',
    target: { name: 'script', block: targetBlocks.script(example.file) },
    cases: caseTexts.script,
    repeat: 1,
    examples: [example],
    notes: [],
  };
}

/** A script that reads case.json speaks Proctor's protocol. Any other one is a program that reads and prints text. */
function planOwnScript({ file, readsCases }: FoundScript): TargetPlan {
  const interpreter = interpreterFor(file);
  const run = interpreter === undefined ? [`./${file}`] : [interpreter, file];
  return {
    what: `the script ${file}`,
    target: { name: 'script', block: readsCases ? targetBlocks.script(file) : targetBlocks.command(run) },
    cases: caseTexts.ownScript,
    repeat: 1,
    notes: readsCases
      ? []
      : [
          `${file} does not read input/case.json, so it gets the message on standard input, and its output is the answer.`,
        ],
  };
}

function planAgent(agent: AgentName, { tests }: Survey): TargetPlan {
  return {
    what: `the coding agent ${agent}`,
    target: { name: agent, block: targetBlocks.agent(agent) },
    cases: caseTexts.agent(tests ?? 'make test'),
    repeat: 1,
    notes: [agentCost(agent), 'The agent works on a private copy of the last commit, so commit your changes first.'],
  };
}

/** What a test with a coding agent costs. */
export function agentCost(agent: AgentName): string {
  const { maxTurns, maxCostUsd, timeout } = AGENT_LIMITS;
  const time = timeout.replace('m', ' minutes');
  const most = `at most ${maxTurns} turns`;
  return agent === 'claude'
    ? `Each test sends 1 task to claude, which costs money: ${most}, ${time} and ${maxCostUsd.toFixed(2)} USD.`
    : `Each test sends 1 task to codex, which costs money: ${most} and ${time}. Proctor needs a price file to limit the cost.`;
}

/** An example goes into the folder if that is empty, otherwise next to the cases. */
function exampleFile(name: string, { isEmpty }: Survey, purpose: string): PlannedFile {
  const text = readFileSync(findInPackage([`examples/first/${name}`]), 'utf8');
  return { file: isEmpty ? name : `proctor/${name}`, text, purpose };
}
