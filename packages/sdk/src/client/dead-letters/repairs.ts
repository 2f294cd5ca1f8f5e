/** Client for repairs of dead letters: you plan and start them, and the server runs them. */

import type {
  Repair,
  RepairAction,
  RepairCanary,
  RepairFilter,
  RepairItem,
  RepairItemPage,
  RepairItemState,
  RepairOverrides,
  RepairPage,
  RepairState,
} from '../generated/index.js';
import { type Call, jsonCall } from '../transport.js';

/** Options for planning a repair. */
export interface RepairPlanOptions {
  /** Entries to repair. Default: all entries in the queue. Required for a delete. */
  readonly filter?: RepairFilter;
  /** Settings of the new runs that differ from the failed runs. Not allowed for a delete. */
  readonly overrides?: RepairOverrides;
}

/** Options for starting a repair. */
export interface RepairStartOptions {
  /**
   * Number of entries to start per second, evenly spaced; 0.1 is one every ten seconds. Required for a resume and a
   * restart.
   */
  readonly ratePerSecond?: number;
  /** A few entries to start first, before the others. Not allowed for a delete. */
  readonly canary?: RepairCanary;
  /** For a delete: time in milliseconds during which it can be undone. Default: 600,000 (ten minutes). */
  readonly undoMs?: number;
}

/** Options for a page of repairs. */
export interface RepairListOptions {
  /** State of the repairs. Default: all. */
  readonly state?: RepairState | readonly RepairState[];
  /** Cursor from the previous page, with the same filters. */
  readonly cursor?: string;
  /** Number of repairs per page, 1 to 100. */
  readonly count?: number;
}

/** Options for a page of entries of a repair. */
export interface RepairItemOptions {
  /** State of the entries. Default: all. */
  readonly state?: RepairItemState | readonly RepairItemState[];
  /** Cursor from the previous page, with the same filters. */
  readonly cursor?: string;
  /** Number of entries per page, 1 to 1,000. */
  readonly count?: number;
}

const REPAIRS = '/v2/workflows/repairs';
const pathOf = (repairId: string, verb = '') => `${REPAIRS}/${encodeURIComponent(repairId)}${verb}`;

/** Operations on repairs of dead letters. Use it through `Client.repairs`. Methods reject with EverstepError. */
export class Repairs {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /**
   * Creates a repair of the matching entries. With many entries, it may still be `planning` when this resolves; get
   * it again later.
   */
  plan(action: RepairAction, options: RepairPlanOptions = {}): Promise<Repair> {
    return this.call(jsonCall('POST', REPAIRS, { action, ...options }));
  }

  /** Returns one repair. */
  get(repairId: string): Promise<Repair> {
    return this.call({ method: 'GET', path: pathOf(repairId) });
  }

  /** Returns one page, newest first. */
  list(options: RepairListOptions = {}): Promise<RepairPage> {
    return this.call({ method: 'GET', path: REPAIRS, query: options });
  }

  /** Returns one page of its entries and their outcomes. */
  items(repairId: string, options: RepairItemOptions = {}): Promise<RepairItemPage> {
    return this.call({ method: 'GET', path: pathOf(repairId, '/items'), query: options });
  }

  /** Returns all entries, fetching pages as needed. */
  async *allItems(repairId: string, options: RepairItemOptions = {}): AsyncGenerator<RepairItem, void, undefined> {
    let cursor = options.cursor;
    do {
      const page = await this.items(repairId, { ...options, ...(cursor ? { cursor } : {}) });
      yield* page.items;
      cursor = page.cursor;
    } while (cursor);
  }

  /** Starts a planned repair. */
  start(repairId: string, options: RepairStartOptions = {}): Promise<Repair> {
    return this.call(jsonCall('POST', pathOf(repairId, '/start'), options));
  }

  /** Pauses the repair: no more entries are started until it is continued. */
  pause(repairId: string): Promise<Repair> {
    return this.call({ method: 'POST', path: pathOf(repairId, '/pause') });
  }

  /** Continues a repair that is paused or whose canary has passed. Without `ratePerSecond`, it keeps its rate. */
  continue(repairId: string, options: { readonly ratePerSecond?: number } = {}): Promise<Repair> {
    return this.call(jsonCall('POST', pathOf(repairId, '/continue'), options));
  }

  /** Aborts the repair: no more entries are started. During the undo window of a delete, this undoes the delete. */
  abort(repairId: string): Promise<Repair> {
    return this.call({ method: 'POST', path: pathOf(repairId, '/abort') });
  }
}
