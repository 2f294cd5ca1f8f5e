/** Workers that a test connects and disconnects. */
import { isWorkerUrl, type WorkerChange, type WorkerDelivery, type WorkerPresence } from '../../ports/workers.js';

export const ORDER = 'worker://shop/order';
export const REFUND = 'worker://shop/refund';
export const CONNECT_AT = 1_700_000_000_000;

/** Workers of the app `shop`, by name, that a test connects and disconnects. */
export class FakeWorkers implements WorkerPresence {
  /** Number of calls of `freeSlots`. */
  checkCount = 0;
  private readonly listeners: ((change: WorkerChange) => void)[] = [];
  private readonly workers = new Map<string, { readonly slots: number; readonly urls: readonly string[] }>();
  /** Names of workers, by delivery. */
  private readonly reservations = new Map<string, string>();

  missingSince(_instanceId: string, url: string): number | null {
    return isWorkerUrl(url) && this.serving(url).length === 0 ? CONNECT_AT : null;
  }
  freeSlots(_instanceId: string, url: string): number {
    this.checkCount++;
    const names = this.serving(url);
    return names.length === 0 ? Number.POSITIVE_INFINITY : names.reduce((sum, name) => sum + this.freeSlotsOf(name), 0);
  }
  reserve({ deliveryKey, url }: WorkerDelivery): void {
    const name = this.serving(url).find((each) => this.freeSlotsOf(each) > 0);
    if (name !== undefined) this.reservations.set(deliveryKey, name);
  }
  release(deliveryKey: string): void {
    this.reservations.delete(deliveryKey);
  }
  onChange(listener: (change: WorkerChange) => void): void {
    this.listeners.push(listener);
  }
  /** Changes the slots of a worker; with 0, it disconnects. */
  setSlots(slots: number, urls: readonly string[] = [ORDER, REFUND], name = 'worker'): void {
    if (slots === 0) this.workers.delete(name);
    else this.workers.set(name, { slots, urls });
    for (const listener of this.listeners) listener({ instanceId: 'qi_1', app: 'shop' });
  }

  private serving(url: string): readonly string[] {
    return [...this.workers].filter(([, { urls }]) => urls.includes(url)).map(([name]) => name);
  }
  private freeSlotsOf(name: string): number {
    const reservedCount = [...this.reservations.values()].filter((each) => each === name).length;
    return Math.max(0, (this.workers.get(name)?.slots ?? 0) - reservedCount);
  }
}
