/** The first suite, per kind of target. Each one passes at once and shows how to continue. */
export const caseTexts = {
  /** For the example agent: four cases with expectations of their own. */
  example: `${heading('Each case is one message, and what must be true of the answer.')}cases:
  - id: opening-hours
    input: { user: When are you open? }
    expected: { contains: "9:00" }

  - id: order-state
    input: { user: Where is my order A-1002? }
    expected: { contains: on its way, tool_required: orders.get }

  - id: small-refund
    title: Refunds a small amount at once
    input: { user: "My lamp arrived broken, order A-1001. I want a refund." }
    expected: { contains: 19.99 EUR, tool_sequence: [orders.get, refunds.create] }

  - id: large-refund
    title: Leaves a large refund to a person
    input: { user: "My desk arrived broken, order A-1002. I want a refund." }
    expected: { contains: colleague, tool_required: tickets.create, tool_forbidden: refunds.create }
`,

  /** For the user's own API, whose answers Proctor cannot know. */
  answers: `${heading('Each case is one message, and what must be true of the answer.')}cases:
  - id: hello
    title: Answers a greeting
    input: { user: "Hello! What can you help me with?" }
    # Any answer that is not blank passes. Replace this with what your agent must say.
    expected: { regex: '\\S' }

  # - id: refund
  #   input: { user: My order arrived broken. }
  #   expected: { contains: refund, not_contains: guarantee, max_latency_ms: 15000 }
`,

  /** For a coding agent: a task that changes nothing, and how to write one that does. */
  agent: (
    tests: string,
  ): string => `${heading('Each case is one task for the agent, and what must be true of its run.')}cases:
  - id: describe
    title: Describes the project without changing it
    input: { user: Look at the files in this folder. Say in one sentence what they are for. Do not change anything. }
    expected: { regex: '\\S', changed_only: [] }

  # A coding task. The check runs after the agent has ended, in the files that it left. \`overlay\` adds tests that
  # the agent never sees: keep them outside the repository. See Proctor's docs/coding-agents.md.
  # - id: empty-input
  #   policy: edit
  #   input: { user: Make parse() in src/parse.js accept empty input. \`${tests}\` runs the tests. }
  #   checks:
  #     - { name: hidden, command: ${tests}, overlay: ../../hidden/empty-input, paths: [src] }
`,

  script: `${heading('Each case is the input of the script, and what must be true of its answer.')}cases:
  - id: two-amounts
    input: { user: Add up the amounts., context: { amounts_cents: [1250, 250] } }
    expected: { contains: The total is 15 EUR. }

  - id: no-amounts
    input: { user: Add up the amounts., context: { amounts_cents: [] } }
    expected: { contains: nothing to pay }
`,

  /** For the user's own script. */
  ownScript: `${heading('Each case is the input of the script, and what must be true of its answer.')}cases:
  - id: first
    input: { user: Hello }
    # Any answer that is not blank passes. Replace this with what your script must say.
    expected: { regex: '\\S' }
`,
} as const;

function heading(what: string): string {
  return `# The first suite. ${what}
# Expectations: contains, regex, json_schema, tool_required, max_latency_ms and more. See Proctor's docs/suites.md.
`;
}
