/** Workers that a test connects and disconnects. */
import {
  type FreedSlots,
  isWorkerUrl,
  type WorkerChange,
  type WorkerDelivery,
  type WorkerPresence,
  workersOf,
} from '../../ports/workers.js';

export const ORDER = 'worker://shop/order';
export const REFUND = 'worker://shop/refund';
export const CONNECT_AT = 1_700_000_000_000;

const urlOf = (workers: string): string => workers.slice(workers.indexOf(' ') + 1);

interface FakeWorker {
  readonly slots: number;
  readonly urls: readonly string[];
  wasLastCounted: boolean;
}

/** Workers of the app `shop`, by name. */
export class FakeWorkers implements WorkerPresence {
  /** Number of calls of `freeSlots`. */
  checkCount = 0;
  private readonly listeners: ((change: WorkerChange) => void)[] = [];
  private readonly workers = new Map<string, FakeWorker>();
  /** Names of workers, by key of the reservation. */
  private readonly reservations = new Map<string, string>();
  private freed: FreedSlots[] = [];

  missingSince(_instanceId: string, url: string): number | null {
    return isWorkerUrl(url) && this.serving(url).length === 0 ? CONNECT_AT : null;
  }
  freeSlots(workers: string): number {
    this.checkCount++;
    const names = this.serving(urlOf(workers));
    return names.length === 0 ? Number.POSITIVE_INFINITY : names.reduce((sum, name) => sum + this.freeSlotsOf(name), 0);
  }
  reserve({ key, workers, isCounted }: WorkerDelivery, heldKey = ''): boolean {
    const heldName = this.reservations.get(heldKey);
    this.reservations.delete(heldKey);
    const name = heldName ?? this.serving(urlOf(workers)).find((each) => this.freeSlotsOf(each) > 0);
    const worker = this.workers.get(name ?? '');
    if (name === undefined || !worker) return false;
    worker.wasLastCounted = isCounted;
    this.reservations.set(key, name);
    return true;
  }
  release(key: string): void {
    const worker = this.workers.get(this.reservations.get(key) ?? '');
    this.reservations.delete(key);
    if (worker) this.addFreed(worker);
  }
  takeFreed(): readonly FreedSlots[] {
    const { freed } = this;
    this.freed = [];
    return freed;
  }
  onChange(listener: (change: WorkerChange) => void): void {
    this.listeners.push(listener);
  }
  /** Changes the slots of a worker; with 0, it disconnects. */
  setSlots(slots: number, urls: readonly string[] = [ORDER, REFUND], name = 'worker'): void {
    const worker = { slots, urls, wasLastCounted: false };
    if (slots === 0) this.workers.delete(name);
    else this.workers.set(name, worker);
    this.addFreed(worker);
    for (const listener of this.listeners) listener({ instanceId: 'qi_1', app: 'shop' });
  }

  private addFreed({ urls, wasLastCounted }: FakeWorker): void {
    this.freed.push({ instanceId: 'qi_1', workers: new Set(urls.map((url) => workersOf('qi_1', url))), wasLastCounted });
  }
  private serving(url: string): readonly string[] {
    return [...this.workers].filter(([, { urls }]) => urls.includes(url)).map(([name]) => name);
  }
  private freeSlotsOf(name: string): number {
    const reservedCount = [...this.reservations.values()].filter((each) => each === name).length;
    return Math.max(0, (this.workers.get(name)?.slots ?? 0) - reservedCount);
  }
}
