import * as z from 'zod/mini';
import { record } from '../../contracts/shape.ts';
import { route } from '../http/route.ts';

export const sessionRoute = route({
  name: 'session',
  method: 'GET',
  path: '/v1/session',
  role: 'user',
  why: 'Says who you are.',
  gives: record({ name: z.string(), role: z.string() }),
  act: (_, { who: { name, role } }) => ({ name, role }),
});
