const TOKEN = /^token \S+ \((.*)\)$/s;

/** Returns the name of a user or token that made a change. A token is shown by its name, without its id: `deploy token`. */
export function actorName(actor: string): string {
  const name = TOKEN.exec(actor)?.[1];
  if (name === undefined) return actor;
  return /\btoken$/i.test(name) ? name : `${name} token`;
}
