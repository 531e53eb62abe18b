/**
 * What an identity may do. Each role includes those before it, except `worker`, which opens only the routes of
 * workers.
 */
export const SERVER_ROLES = ['user', 'viewer', 'runner', 'admin', 'worker'] as const;

export type ServerRole = (typeof SERVER_ROLES)[number];

export function isRole(text: string): text is ServerRole {
  return (SERVER_ROLES as readonly string[]).includes(text);
}

/** Whether a role opens a route that needs another role. */
export function allows(have: ServerRole, need: ServerRole): boolean {
  if (have === 'worker' || need === 'worker') return have === need;
  return SERVER_ROLES.indexOf(have) >= SERVER_ROLES.indexOf(need);
}
