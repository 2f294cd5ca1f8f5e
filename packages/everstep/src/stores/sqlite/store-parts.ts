/** What the parts of the store share: one connection and what is kept in memory beside it. */
import type { Connection } from './connection.js';
import { Counters } from './counters.js';
import { CreationOrder } from './creation-order.js';
import { DayCounts } from './day-counts.js';
import { EndedBlocks } from './ended-blocks.js';
import { FacetIndex } from './facets/facet-index.js';
import { FacetReader, type PrefixLimits } from './facets/members.js';
import { RunDirectory } from './run-directory.js';
import { Tenants } from './tenants.js';
import { UsageCounts } from './usage-counts.js';

export interface StoreParts {
  readonly connection: Connection;
  readonly tenants: Tenants;
  readonly runs: RunDirectory;
  readonly counters: Counters;
  readonly runOrder: CreationOrder;
  readonly deadLetterOrder: CreationOrder;
  readonly facets: FacetIndex;
  readonly facetReader: FacetReader;
  readonly ended: EndedBlocks;
  readonly usage: UsageCounts;
  readonly days: DayCounts;
}

export function createStoreParts(connection: Connection, prefixLimits?: PrefixLimits): StoreParts {
  const counters = new Counters(connection);
  return {
    connection,
    counters,
    tenants: new Tenants(connection),
    runs: new RunDirectory(connection),
    runOrder: new CreationOrder(connection, counters, 'run'),
    deadLetterOrder: new CreationOrder(connection, counters, 'dead_letter'),
    facets: new FacetIndex(connection),
    facetReader: new FacetReader(connection, prefixLimits),
    ended: new EndedBlocks(),
    usage: new UsageCounts(connection),
    days: new DayCounts(connection),
  };
}

/** After a rollback: what memory holds may never have happened. */
export function forgetUnwritten(parts: StoreParts): void {
  const { tenants, runs, counters, runOrder, deadLetterOrder, facets, usage, days } = parts;
  for (const part of [tenants, runs, counters, runOrder, deadLetterOrder, facets, usage, days]) part.forget();
}
