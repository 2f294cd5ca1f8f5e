/** Secrets of the whole installation. */
import type { InstallationSecretStore } from '../../../ports/stores/accounts/installation-secrets.js';
import { text } from '../../records/columns.js';
import { count, type Procedure, row, rows, type SqlStore, send } from '../sql/procedure.js';
import { sql } from '../sql/sql.js';
import { TEXT, table } from '../sql/table.js';

const SECRET = table<{ readonly name: string; readonly value: string }>('secret', { name: TEXT, value: TEXT });

function* findSecret(name: string): Procedure<string | null> {
  const foundRow = yield* row(sql`SELECT value FROM secret WHERE name = ${name}`);
  return foundRow && text(foundRow, 'value');
}

function* listSecrets() {
  return (yield* rows(sql`SELECT name, value FROM secret ORDER BY name`)).map(SECRET.read);
}

export function createSecrets(store: SqlStore): InstallationSecretStore {
  return {
    async findOrCreateSecret({ name, value }) {
      // A store that does not accept writes can still be read.
      const existingValue = await store.read(findSecret(name));
      if (existingValue !== null) return existingValue;
      await store.write(() => send(sql`${SECRET.insert({ name, value })} ON CONFLICT (name) DO NOTHING`));
      // If several processes start at once, the secret of the first one counts.
      return (await store.read(findSecret(name))) ?? value;
    },
    findSecret: ({ name }) => store.read(findSecret(name)),
    listSecrets: () => store.read(listSecrets()),
    replaceSecret: ({ name, from, to }) =>
      store.write(function* () {
        return (yield* count(sql`UPDATE secret SET value = ${to} WHERE name = ${name} AND value = ${from}`)) === 1;
      }),
    deleteSecret: ({ name }) => store.write(() => send(sql`DELETE FROM secret WHERE name = ${name}`)),
  };
}
