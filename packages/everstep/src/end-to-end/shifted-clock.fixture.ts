/** This module is loaded before a node. It shifts the clock of the node by SHIFTED_CLOCK_MS. */
import { performance } from 'node:perf_hooks';

const shiftMs = Number(process.env.SHIFTED_CLOCK_MS ?? 0);
const { now } = Date;
const SystemDate = Date;

class ShiftedDate extends SystemDate {
  constructor(...dateArguments: unknown[]) {
    // Other arguments of Date work as usual.
    if (dateArguments.length === 0) super(now() + shiftMs);
    else super(...(dateArguments as [number]));
  }
  static override now(): number {
    return now() + shiftMs;
  }
}
globalThis.Date = ShiftedDate as DateConstructor;
Object.defineProperty(performance, 'timeOrigin', { value: performance.timeOrigin + shiftMs });
