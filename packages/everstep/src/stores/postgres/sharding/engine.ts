/** What a database supports. It is detected when the store is opened, and decides how statements are sent. */

export interface Engine {
  /** Name of the product, for display. */
  readonly name: string;
  /**
   * Whether the tables are on several servers by their instance. A statement then names its instance as one value, and a
   * transaction contains the writes of one instance.
   */
  readonly isDistributed: boolean;
}

export const POSTGRESQL: Engine = { name: 'PostgreSQL', isDistributed: false };
export const CITUS: Engine = { name: 'Citus', isDistributed: true };
