/** A log line about an event that can occur thousands of times a second. It is written at most once per minute. */
import type { Log } from './log.js';

const PERIOD_MS = 60_000;

/** Logs a frequent event at most once per minute. */
export class ThrottledLog {
  private readonly log: Log;
  private readonly elapsedMs: () => number;
  private readonly message: string;
  private silentUntilMs = Number.NEGATIVE_INFINITY;
  private occurrences = 0;

  constructor(log: Log, message: string, elapsedMs: () => number = () => performance.now()) {
    this.log = log;
    this.message = message;
    this.elapsedMs = elapsedMs;
  }

  /** Logs the event, at most once per period. `occurrences` counts this event and those since the last line. */
  warn(details: Readonly<Record<string, unknown>>): void {
    this.occurrences++;
    if (this.elapsedMs() < this.silentUntilMs) return;
    this.silentUntilMs = this.elapsedMs() + PERIOD_MS;
    this.log.warn({ ...details, occurrences: this.occurrences }, this.message);
    this.occurrences = 0;
  }
}
