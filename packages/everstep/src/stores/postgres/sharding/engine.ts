/** The features of a database. They are detected when the store is opened, and determine the form of the statements. */
import type { ShardServers } from './shard-servers.js';

export interface Engine {
  /** Name of the product, for display. */
  readonly name: string;
  /**
   * Whether the tables are distributed over several servers by instance. A statement then names its instance as one value, and a
   * transaction contains the writes of one instance.
   */
  readonly isDistributed: boolean;
  /** The servers of distributed tables; null if the tables are not distributed. */
  readonly servers: ShardServers | null;
}

export const POSTGRESQL: Engine = { name: 'PostgreSQL', isDistributed: false, servers: null };
export const citus = (servers: ShardServers | null): Engine => ({ name: 'Citus', isDistributed: true, servers });
