/**
 * Deliveries that wait, in the order of their offers. Adding one, taking the first and withdrawing one from anywhere in the
 * list cost the same, however long the list is: a removed entry leaves an empty cell, and the list is packed when most cells
 * are empty.
 *
 * A delivery that left the list and returns takes its former position. The list therefore consists of rows that are each
 * sorted. Usually there is one row; there are more only while deliveries return.
 */

import type { Delivery, DeliveryLimits, DeliveryRef } from './delivery.js';
import type { RateWindow } from './rate-window.js';

/** A row is packed when it has more empty cells than this, and more than occupied ones. */
const MAX_EMPTY_CELLS = 512;

/** A delivery at the gates, from its offer until it is done. */
export class GatedDelivery implements Delivery {
  readonly runKey: string;
  readonly slot: number;
  readonly limits: DeliveryLimits;
  /** Number of the offer. It increases with each offer. */
  readonly order: number;
  /** Time of the offer, Unix ms. */
  readonly since: number;
  /** The list in which it waits; null once it has passed. */
  list: WaitList | null = null;
  /** Whether it passes as the probe of a held destination. */
  isProbe = false;
  /** The rate window that counts its start. */
  window: RateWindow | null = null;
  /** Whether a rate window counts it and its request is not sent yet. */
  isUnsent = false;
  /** The row of its list in which it waits. Only the list sets it. */
  row: Row | null = null;
  /** Index in the cells of the row. */
  cell = 0;

  constructor({ runKey, slot }: DeliveryRef, limits: DeliveryLimits, order: number, since: number) {
    this.runKey = runKey;
    this.slot = slot;
    this.limits = limits;
    this.order = order;
    this.since = since;
  }
}

/** Deliveries by run and slot. Most runs have one delivery, which takes a single entry. */
export class GatedDeliveries {
  private readonly byRun = new Map<string, GatedDelivery | Map<number, GatedDelivery>>();

  get({ runKey, slot }: DeliveryRef): GatedDelivery | undefined {
    const deliveries = this.byRun.get(runKey);
    if (deliveries instanceof Map) return deliveries.get(slot);
    return deliveries?.slot === slot ? deliveries : undefined;
  }

  has(ref: DeliveryRef): boolean {
    return this.get(ref) !== undefined;
  }

  /** Adds a delivery of a slot that has none. */
  add(delivery: GatedDelivery): void {
    const { runKey, slot } = delivery;
    const deliveries = this.byRun.get(runKey);
    if (deliveries instanceof Map) deliveries.set(slot, delivery);
    else this.byRun.set(runKey, deliveries ? new Map([deliveries, delivery].map((one) => [one.slot, one])) : delivery);
  }

  delete({ runKey, slot }: DeliveryRef): void {
    const deliveries = this.byRun.get(runKey);
    if (deliveries instanceof Map) deliveries.delete(slot);
    if (deliveries instanceof Map ? deliveries.size === 0 : deliveries?.slot === slot) this.byRun.delete(runKey);
  }

  clear(): void {
    this.byRun.clear();
  }

  ofRun(runKey: string): readonly GatedDelivery[] {
    const deliveries = this.byRun.get(runKey);
    if (deliveries instanceof Map) return [...deliveries.values()];
    return deliveries ? [deliveries] : [];
  }

  /** Yields all deliveries. Those that were yielded may be deleted during the iteration. */
  *all(): Generator<GatedDelivery> {
    for (const runKey of this.byRun.keys()) yield* this.ofRun(runKey);
  }
}

interface Row {
  cells: (GatedDelivery | null)[];
  /** All cells before this one are empty. */
  head: number;
  /** Number of cells that are not empty. */
  occupied: number;
  /** Order of the delivery that was added last. */
  lastOrder: number;
}

function firstOf(row: Row): GatedDelivery | null {
  for (; row.head < row.cells.length; row.head++) {
    const delivery = row.cells[row.head];
    if (delivery) return delivery;
  }
  return null;
}

function pack(row: Row): void {
  row.cells = row.cells.filter((delivery) => delivery !== null);
  row.head = 0;
  for (const [cell, delivery] of row.cells.entries()) if (delivery) delivery.cell = cell;
}

export class WaitList {
  private rows: Row[] = [];
  private waitingCount = 0;

  get size(): number {
    return this.waitingCount;
  }

  get first(): GatedDelivery | null {
    let first: GatedDelivery | null = null;
    for (const row of this.rows) {
      const delivery = firstOf(row);
      if (delivery && (!first || delivery.order < first.order)) first = delivery;
    }
    return first;
  }

  /** Adds a delivery that waits in no other list. */
  add(delivery: GatedDelivery): void {
    let row = this.rows.find(({ lastOrder }) => lastOrder < delivery.order);
    if (!row) {
      row = { cells: [], head: 0, occupied: 0, lastOrder: delivery.order };
      this.rows.push(row);
    }
    row.lastOrder = delivery.order;
    row.occupied++;
    delivery.row = row;
    delivery.cell = row.cells.push(delivery) - 1;
    delivery.list = this;
    this.waitingCount++;
  }

  /** Removes a delivery; does nothing if it is not in this list. */
  remove(delivery: GatedDelivery): void {
    const { row } = delivery;
    if (!row || delivery.list !== this) return;
    row.cells[delivery.cell] = null;
    row.occupied--;
    delivery.row = null;
    delivery.list = null;
    this.waitingCount--;
    if (row.occupied === 0) this.rows = this.rows.filter((candidate) => candidate !== row);
    else if (row.cells.length - row.occupied > Math.max(MAX_EMPTY_CELLS, row.occupied)) pack(row);
  }

  /** Yields the deliveries, first the one that was offered first. The list must not change during the iteration. */
  *inOrder(): Generator<GatedDelivery> {
    const cursors = this.rows.map((row) => ({ row, index: row.head }));
    for (;;) {
      let next: { delivery: GatedDelivery; cursor: { index: number } } | null = null;
      for (const cursor of cursors) {
        const { cells } = cursor.row;
        while (cursor.index < cells.length && !cells[cursor.index]) cursor.index++;
        const delivery = cells[cursor.index];
        if (delivery && (!next || delivery.order < next.delivery.order)) next = { delivery, cursor };
      }
      if (!next) return;
      next.cursor.index++;
      yield next.delivery;
    }
  }

  /** Returns the position of a delivery in the list, from 1. */
  positionOf({ order }: GatedDelivery): number {
    let olderCount = 0;
    for (const { cells } of this.rows) for (const delivery of cells) if (delivery && delivery.order < order) olderCount++;
    return olderCount + 1;
  }
}
