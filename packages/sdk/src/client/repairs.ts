/** Repairs of dead letters, as calls: planned, started, and then driven by the service. */
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
} from './repair-types.js';
import { type Call, jsonCall } from './transport.js';

export interface RepairPlanOptions {
  /** All that are in the queue when absent; a delete needs one. */
  readonly filter?: RepairFilter;
  readonly overrides?: RepairOverrides;
}

export interface RepairStartOptions {
  /** Entries a second, begun evenly; 0.1 is one every ten seconds. A resume and a restart need it. */
  readonly ratePerSecond?: number;
  readonly canary?: RepairCanary;
  /** Of a delete: nothing is deleted for so long. Default ten minutes. */
  readonly undoMs?: number;
}

export interface RepairListOptions {
  readonly state?: RepairState | readonly RepairState[];
  readonly cursor?: string;
  /** Per page, 1 to 100. */
  readonly count?: number;
}

export interface RepairItemOptions {
  readonly state?: RepairItemState | readonly RepairItemState[];
  readonly cursor?: string;
  /** Per page, 1 to 1,000. */
  readonly count?: number;
}

const REPAIRS = '/v2/workflows/repairs';
const pathOf = (repairId: string, verb = '') => `${REPAIRS}/${encodeURIComponent(repairId)}${verb}`;

export class Repairs {
  private readonly call: <T>(call: Call) => Promise<T>;

  constructor(call: <T>(call: Call) => Promise<T>) {
    this.call = call;
  }

  /** Freezes the entries that match. Of very many it may still be `planning` when this resolves: then ask for it again. */
  plan(action: RepairAction, options: RepairPlanOptions = {}): Promise<Repair> {
    return this.call(jsonCall('POST', REPAIRS, { action, ...options }));
  }

  get(repairId: string): Promise<Repair> {
    return this.call({ method: 'GET', path: pathOf(repairId) });
  }

  /** One page, newest first. */
  list(options: RepairListOptions = {}): Promise<RepairPage> {
    return this.call({ method: 'GET', path: REPAIRS, query: options });
  }

  /** One page of what became of its entries. */
  items(repairId: string, options: RepairItemOptions = {}): Promise<RepairItemPage> {
    return this.call({ method: 'GET', path: pathOf(repairId, '/items'), query: options });
  }

  /** All of them, page by page as they are asked for. */
  async *allItems(repairId: string, options: RepairItemOptions = {}): AsyncGenerator<RepairItem, void, undefined> {
    let cursor = options.cursor;
    do {
      const page = await this.items(repairId, { ...options, ...(cursor ? { cursor } : {}) });
      yield* page.items;
      cursor = page.cursor;
    } while (cursor);
  }

  start(repairId: string, options: RepairStartOptions = {}): Promise<Repair> {
    return this.call(jsonCall('POST', pathOf(repairId, '/start'), options));
  }

  /** Nothing more is begun until it is continued. */
  pause(repairId: string): Promise<Repair> {
    return this.call({ method: 'POST', path: pathOf(repairId, '/pause') });
  }

  /** Goes on with one that is paused, or whose canary has passed; at the rate that it has when none is given. */
  continue(repairId: string, options: { readonly ratePerSecond?: number } = {}): Promise<Repair> {
    return this.call(jsonCall('POST', pathOf(repairId, '/continue'), options));
  }

  /** Nothing more is begun, ever. In the undo window of a delete this is the undo. */
  abort(repairId: string): Promise<Repair> {
    return this.call({ method: 'POST', path: pathOf(repairId, '/abort') });
  }
}
