import { yamlWord } from './yaml-text.ts';

export interface ProjectWords {
  readonly name: string;
  readonly target: { readonly name: string; readonly block: string };
  /** The path of the case file. */
  readonly cases: string;
  readonly repeat: number;
}

/** The text of proctor.yaml, with comments that explain each part. */
export function projectText({ name, target, cases, repeat }: ProjectWords): string {
  const often = repeat === 1 ? 'once; a higher number shows whether it passes by chance' : 'because answers can vary';
  return `# yaml-language-server: $schema=./node_modules/proctor/schemas/project.json
# What Proctor tests here. \`proctor test\` runs every suite, and \`proctor test --accept\` makes the result the baseline.
# Proctor's docs/project.md explains every key, and docs/targets.md every kind of target.
schema_version: project.v1
name: ${yamlWord(name)}

# What is tested: how to start it, how to ask it, and how to read its reply.
targets:
  ${target.name}:
${target.block}
# Which cases to send to which target.
suites:
  basics:
    cases: ${yamlWord(cases)}
    target: ${target.name}
    # Send every case ${repeat === 1 ? often : `${repeat} times, ${often}`}.
    repeat: ${repeat}

# When a test fails. Without a baseline, only the limits count: here, no case may fail.
gate:
  limits: { max_failing: 0 }

# Accepted results, to commit. Later tests are compared with them.
baselines: proctor/baselines
reports: [html, junit]
`;
}
