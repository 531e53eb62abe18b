import type { Shape } from './shape.ts';

/** The parts of zod's internal definition of a shape that Proctor reads. */
export interface Definition {
  readonly _zod: {
    readonly def: {
      readonly type: string;
      readonly format?: string;
      readonly shape?: Readonly<Record<string, Definition>>;
      /** The form of the members that `shape` does not name. */
      readonly catchall?: Definition;
      readonly element?: Definition;
      readonly innerType?: Definition;
      readonly valueType?: Definition;
      readonly left?: Definition;
      readonly right?: Definition;
      readonly options?: readonly Definition[];
      readonly values?: readonly unknown[];
      readonly entries?: Readonly<Record<string, unknown>>;
      readonly checks?: readonly ZodCheck[];
    };
  };
}

export interface ZodCheck {
  readonly _zod: {
    readonly def: {
      readonly check: string;
      readonly pattern?: RegExp;
      readonly minimum?: number;
      readonly maximum?: number;
      readonly value?: number;
      readonly inclusive?: boolean;
      readonly error?: (issue: object) => string;
      readonly fn?: (value: unknown) => unknown;
    };
    readonly check: (payload: { value: unknown; issues: { message?: string }[] }) => unknown;
  };
}

export function definitionOf(shape: Shape): Definition {
  return shape as unknown as Definition;
}
