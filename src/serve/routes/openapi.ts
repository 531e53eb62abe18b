import { anyObject } from '../../contracts/shape.ts';
import { openApi } from '../http/openapi.ts';
import { type Route, route } from '../http/route.ts';

/** Describes the other routes and itself. */
export function openApiRoute(routes: () => readonly Route[]): Route {
  return route({
    name: 'openapi',
    method: 'GET',
    path: '/v1/openapi.json',
    role: 'anyone',
    why: 'Gives the OpenAPI 3.1 document of this API.',
    gives: anyObject(),
    act: () => openApi(routes()),
  });
}
