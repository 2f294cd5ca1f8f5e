/** The parts of the store, which share one connection and its state in memory. */

import { DayCounts } from '../accounts/day-counts.js';
import { UsageCounts } from '../accounts/usage-counts.js';
import { UnsettledSums } from '../commit/unsettled-sums.js';
import { GroupCounts } from '../dead-letters/dead-letter-group-counts.js';
import { InsightCountsWriter } from '../insights/insight-counts.js';
import { Counters } from '../listing/counters.js';
import { CreationOrder } from '../listing/creation-order.js';
import { EndedBlocks } from '../listing/ended-blocks.js';
import { FacetIndex } from '../listing/facets/facet-index.js';
import { FacetReader, type PrefixLimits } from '../listing/facets/members.js';
import { Tenants } from '../listing/tenants.js';
import { ActiveRunIds } from '../runs/active-run-ids.js';
import { RunDirectory } from '../runs/run-directory.js';
import { StagedJournals } from '../storage/staged-journals.js';
import { StoredBytes } from '../storage/stored-bytes.js';
import type { Connection } from './connection.js';
import { SqlRunner } from './sql-runner.js';

export interface StoreParts {
  readonly connection: Connection;
  readonly sql: SqlRunner;
  readonly tenants: Tenants;
  readonly runs: RunDirectory;
  readonly counters: Counters;
  readonly runOrder: CreationOrder;
  readonly deadLetterOrder: CreationOrder;
  readonly facets: FacetIndex;
  readonly facetReader: FacetReader;
  readonly activeRunIds: ActiveRunIds;
  readonly endedBlocks: EndedBlocks;
  readonly sums: UnsettledSums;
  readonly usage: UsageCounts;
  readonly dayCounts: DayCounts;
  readonly insights: InsightCountsWriter;
  readonly groups: GroupCounts;
  readonly storedBytes: StoredBytes;
  readonly stagedJournals: StagedJournals;
}

export function createStoreParts(connection: Connection, prefixLimits?: PrefixLimits): StoreParts {
  const counters = new Counters(connection);
  const tenants = new Tenants(connection);
  const runOrder = new CreationOrder(connection, counters, 'run');
  const sums = new UnsettledSums(connection);
  const storedBytes = new StoredBytes(connection, sums);
  const sql = new SqlRunner(connection);
  const facets = new FacetIndex(connection);
  const facetReader = new FacetReader(connection, prefixLimits);
  return {
    connection,
    sql,
    counters,
    tenants,
    runs: new RunDirectory(connection),
    runOrder,
    deadLetterOrder: new CreationOrder(connection, counters, 'dead_letter'),
    facets,
    facetReader,
    activeRunIds: new ActiveRunIds(connection, counters, facets, facetReader),
    endedBlocks: new EndedBlocks(),
    sums,
    usage: new UsageCounts(connection, sums),
    dayCounts: new DayCounts(connection, sums),
    insights: new InsightCountsWriter(connection, sql, tenants),
    groups: new GroupCounts(connection, tenants),
    storedBytes,
    stagedJournals: new StagedJournals(connection, runOrder, storedBytes),
  };
}

/** Discards the state in memory: a rollback may have undone the changes that it reflects, or its rows were removed. */
export function forgetCachedState(parts: StoreParts): void {
  const { tenants, runs, counters, runOrder, deadLetterOrder, facets, sums, usage, dayCounts, insights, groups } = parts;
  for (const part of [tenants, runs, counters, runOrder, deadLetterOrder, facets, sums, usage, dayCounts, insights, groups])
    part.forget();
}
