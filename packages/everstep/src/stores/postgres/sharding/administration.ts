/** Opens a connection for commands that administer the distribution of a store. */
import pg from 'pg';
import { locationOfUrl } from '../connection/errors.js';
import { primaryUrl } from '../connection/primary.js';
import { checkTls } from '../connection/tls.js';
import { openPostgresStore } from '../index.js';

export { DistributionError, type DistributionState, distribute, distributionState } from './distribute.js';
export { locationsOf, moveInstance, serversOf } from './placement.js';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** Creates the tables, or migrates them to the latest schema. */
export async function createTables(url: string): Promise<void> {
  await (await openPostgresStore({ url, log: SILENT })).close();
}

/** Runs `work` on a separate connection to the primary. */
export async function withPrimaryConnection<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  checkTls(url, locationOfUrl(url));
  const client = new pg.Client({ connectionString: await primaryUrl(url), application_name: 'everstep' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
