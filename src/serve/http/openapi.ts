import * as z from 'zod/mini';
import { VERSION } from '../../base/version.ts';
import type { Shape } from '../../contracts/shape.ts';
import { isUpload } from './input.ts';
import { COMMON_REFUSALS } from './refusal.ts';
import type { Route } from './route.ts';

/** The OpenAPI 3.1 document of the routes. It says nothing that the routes do not say. */
export function openApi(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  return {
    openapi: '3.1.0',
    info: { title: 'Proctor', version: VERSION, description: 'The API of `proctor serve`.' },
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token from `proctor token new`.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-proctor_session',
          description: 'The session of a browser. Without TLS: `proctor_session_PORT`.',
        },
      },
      schemas: { Refusal: schemaOf(refusalShape) },
    },
  };
}

const refusalShape = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    fields: z.optional(z.array(z.object({ field: z.string(), message: z.string() }))),
  }),
});

function operationOf(route: Route): object {
  const isOpen = route.role === 'anyone';
  return {
    operationId: route.name,
    summary: route.why,
    description: isOpen ? 'Needs no identity.' : `Needs the role \`${route.role}\`.`,
    security: isOpen ? [] : [{ token: [] }, { session: [] }],
    parameters: [...parametersOf(route.params, 'path'), ...parametersOf(route.query, 'query')],
    ...(route.body && { requestBody: { required: true, content: contentOf(route.body) } }),
    responses: { ...answersOf(route), ...refusalsOf(route) },
  };
}

function parametersOf(shape: Shape | undefined, within: 'path' | 'query'): object[] {
  if (!shape) return [];
  const { properties = {}, required = [] } = schemaOf(shape) as { properties?: object; required?: string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: within,
    required: within === 'path' || required.includes(name),
    schema,
  }));
}

function contentOf(body: NonNullable<Route['body']>): object {
  if (!isUpload(body)) return { 'application/json': { schema: schemaOf(body) } };
  const { upload, json } = body;
  return Object.fromEntries(
    upload.map(type => [type, type === 'application/json' && json ? { schema: schemaOf(json) } : {}]),
  );
}

function answersOf(route: Route): Record<string, object> {
  const { status = 200, unfinishedStatus } = route;
  const unfinished = { ...answerOf(route), description: 'Not done yet. Ask again to wait.' };
  return { [String(status)]: answerOf(route), ...(unfinishedStatus && { [String(unfinishedStatus)]: unfinished }) };
}

function answerOf({ gives, status }: Route): object {
  if (status === 204) return { description: 'Done.' };
  if ('media' in gives) return { description: 'Done.', content: { [gives.media]: {} } };
  return { description: 'Done.', content: { 'application/json': { schema: schemaOf(gives) } } };
}

/** Refusals with the same status share one answer, which lists their codes. */
function refusalsOf(route: Route): Record<string, object> {
  const codes = new Map<number, string[]>();
  for (const [code, status] of Object.entries({ ...COMMON_REFUSALS, ...route.refuses }))
    codes.set(status, [...(codes.get(status) ?? []), code]);
  return Object.fromEntries(
    [...codes].map(([status, names]) => [
      String(status),
      {
        description: `Refused: ${names.join(', ')}.`,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } },
      },
    ]),
  );
}

function schemaOf(shape: Shape): object {
  const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' });
  return schema;
}
