/**
 * A separate database on the cluster of the tests. Its servers reach each other through proxies of the test, so that one of them
 * can refuse connections or stop responding. Other databases are not affected.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { CITUS, prepareCluster, withClusterClient } from './citus.js';
import { DatabaseProxy } from './database-proxy.js';

export interface ClusterDatabase {
  /** URL of the coordinator. The database has distributed tables. */
  readonly url: string;
  /** Ends the connections to the server (host and port) and refuses new ones until `start` is called. */
  stop(server: string): Promise<void>;
  /** Keeps connections to the server open, but lets nothing pass, until `start`. */
  freeze(server: string): Promise<void>;
  start(server: string): Promise<void>;
  drop(): Promise<void>;
}

interface Server {
  readonly host: string;
  readonly port: number;
  readonly isCoordinator: boolean;
}

function urlAt(url: string, database: string, server?: Server): string {
  const newUrl = new URL(url);
  newUrl.pathname = `/${database}`;
  if (server) [newUrl.hostname, newUrl.port] = [server.host, String(server.port)];
  return newUrl.href;
}

/** Creates the database with its tables on all servers. Rejects if the cluster has fewer than two servers with shards. */
export async function makeClusterDatabase(): Promise<ClusterDatabase> {
  const coordinatorUrl = process.env[CITUS] ?? '';
  const existingDatabase = new URL(coordinatorUrl).pathname.slice(1);
  const name = `test_${randomBytes(6).toString('hex')}`;
  const servers: Server[] = [];
  await withClusterClient(coordinatorUrl, async (client) => {
    const { rows } = await client.query<{ host: string; port: number; group: number }>(
      `SELECT nodename AS host, nodeport AS port, groupid AS group FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid`,
    );
    servers.push(...rows.map(({ host, port, group }) => ({ host, port, isCoordinator: group === 0 })));
  });
  const workers = servers.filter(({ isCoordinator }) => !isCoordinator);
  if (workers.length < 2) throw new Error('the cluster has fewer than two workers');
  const administer = async (server: Server | undefined, database: string, statements: readonly string[]) => {
    const client = new pg.Client({ connectionString: urlAt(coordinatorUrl, database, server) });
    try {
      await client.connect();
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  };
  const coordinatorAndWorkers = [undefined, ...workers];
  for (const server of coordinatorAndWorkers) {
    await administer(server, existingDatabase, [`CREATE DATABASE ${name}`]);
    await administer(server, name, ['CREATE EXTENSION citus']);
  }
  const proxies = new Map<string, DatabaseProxy>();
  for (const { host, port } of workers) {
    const proxy = new DatabaseProxy(port, host);
    await proxy.listen();
    proxies.set(`127.0.0.1:${proxy.port}`, proxy);
  }
  const url = urlAt(coordinatorUrl, name);
  const coordinator = servers.find(({ isCoordinator }) => isCoordinator);
  await withClusterClient(url, async (client) => {
    if (coordinator) await client.query('SELECT citus_set_coordinator_host($1, $2)', [coordinator.host, coordinator.port]);
    for (const address of proxies.keys()) await client.query('SELECT citus_add_node($1, $2)', address.split(':'));
    await prepareCluster(client);
  });
  const proxyAt = (address: string) => {
    const proxy = proxies.get(address);
    if (!proxy) throw new Error(`${address} is not a worker`);
    return proxy;
  };
  return {
    url,
    async stop(address) {
      const proxy = proxyAt(address);
      proxy.isRefusing = true;
      proxy.cut();
    },
    async freeze(address) {
      proxyAt(address).isHeld = true;
    },
    async start(address) {
      const proxy = proxyAt(address);
      proxy.isRefusing = false;
      proxy.isHeld = false;
    },
    async drop() {
      for (const server of coordinatorAndWorkers)
        await administer(server, existingDatabase, [`DROP DATABASE ${name} WITH (FORCE)`]);
      for (const proxy of proxies.values()) await proxy.close();
    },
  };
}
