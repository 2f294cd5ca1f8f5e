/**
 * Deliveries that wait, in the order in which they arrived. To join, to go
 * and to be withdrawn from anywhere in the list cost the same however long it
 * is: a place that was left stays empty until the list is packed, which
 * happens when most places are.
 *
 * One that stepped aside and comes back goes to where it was by its arrival.
 * The list therefore consists of rows that are each in order; there is one,
 * and more only while some came back.
 */

import type { Passage, Ticket } from './passage.js';
import type { RateWindow } from './rate-window.js';

/** Rows are packed when so many places are empty, and more than are taken. */
const PACK_AT = 512;

/** A delivery from its offer until it is done. */
export class Delivery {
  readonly ticket: Ticket;
  readonly passage: Passage;
  /** Grows from one offer to the next. */
  readonly arrival: number;
  /** Where it waits; null when it has passed. */
  list: WaitList | null = null;
  /** It is let through to see whether its destination is back. */
  probe = false;
  /** The rate window that its start is counted in. */
  window: RateWindow | null = null;
  /** It counts for a rate window, and its request is still to leave. */
  toLeave = false;
  /** Set by its list alone. */
  row: Row | null = null;
  place = 0;

  constructor(ticket: Ticket, passage: Passage, arrival: number) {
    this.ticket = ticket;
    this.passage = passage;
    this.arrival = arrival;
  }
}

interface Row {
  places: (Delivery | null)[];
  /** Places before this one are empty. */
  head: number;
  taken: number;
  /** Arrival of the last one that joined. */
  last: number;
}

function firstOf(row: Row): Delivery | null {
  for (; row.head < row.places.length; row.head++) {
    const delivery = row.places[row.head];
    if (delivery) return delivery;
  }
  return null;
}

function pack(row: Row): void {
  row.places = row.places.filter((delivery) => delivery !== null);
  row.head = 0;
  for (const [place, delivery] of row.places.entries()) if (delivery) delivery.place = place;
}

export class WaitList {
  private rows: Row[] = [];
  private waiting = 0;

  get size(): number {
    return this.waiting;
  }

  get first(): Delivery | null {
    let first: Delivery | null = null;
    for (const row of this.rows) {
      const delivery = firstOf(row);
      if (delivery && (!first || delivery.arrival < first.arrival)) first = delivery;
    }
    return first;
  }

  /** The delivery must not wait anywhere else. */
  add(delivery: Delivery): void {
    let row = this.rows.find(({ last }) => last < delivery.arrival);
    if (!row) {
      row = { places: [], head: 0, taken: 0, last: delivery.arrival };
      this.rows.push(row);
    }
    row.last = delivery.arrival;
    row.taken++;
    delivery.row = row;
    delivery.place = row.places.push(delivery) - 1;
    delivery.list = this;
    this.waiting++;
  }

  /** The delivery must be in this list. */
  remove(delivery: Delivery): void {
    const { row } = delivery;
    if (!row || delivery.list !== this) return;
    row.places[delivery.place] = null;
    row.taken--;
    delivery.row = null;
    delivery.list = null;
    this.waiting--;
    if (row.taken === 0) this.rows = this.rows.filter((other) => other !== row);
    else if (row.places.length - row.taken > Math.max(PACK_AT, row.taken)) pack(row);
  }

  /** From the one that waits longest on. The list must not change meanwhile. */
  *inOrder(): Generator<Delivery> {
    const cursors = this.rows.map((row) => ({ row, at: row.head }));
    for (;;) {
      let next: { delivery: Delivery; cursor: { at: number } } | null = null;
      for (const cursor of cursors) {
        const { places } = cursor.row;
        while (cursor.at < places.length && !places[cursor.at]) cursor.at++;
        const delivery = places[cursor.at];
        if (delivery && (!next || delivery.arrival < next.delivery.arrival)) next = { delivery, cursor };
      }
      if (!next) return;
      next.cursor.at++;
      yield next.delivery;
    }
  }

  /** Its place in the list, from 1. */
  placeOf({ arrival }: Delivery): number {
    let before = 0;
    for (const { places } of this.rows) for (const other of places) if (other && other.arrival < arrival) before++;
    return before + 1;
  }
}
