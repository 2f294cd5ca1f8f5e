/** Writes flow control keys: their limits, whether they are paused or pinned, and the current rate window. */
import type { StatementSync } from 'node:sqlite';
import { onlyPinnedLimit } from '../../../engine/limits/pinned-limits.js';
import type { FlowControl, FlowControlState } from '../../../engine/runs/run.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { Applier } from '../commit/applier.js';
import type { StoreParts } from '../connection/store-parts.js';

type SetWrite = Extract<WriteOf<'flow-control'>, { readonly kind: 'set-flow-control' }>;

export class FlowControlRecords implements Applier<WriteOf<'flow-control'>> {
  private readonly parts: StoreParts;
  private readonly replaceLimits: StatementSync;
  private readonly setPart: Readonly<Record<SetWrite['part'], StatementSync>>;
  private readonly replaceWindow: StatementSync;

  constructor(parts: StoreParts) {
    const { connection } = parts;
    this.parts = parts;
    this.replaceLimits = connection.prepare(
      `INSERT INTO flow_control (tenant, key, parallelism, rate, period_ms, updated_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (tenant, key) DO UPDATE SET
         parallelism = iif(pinned = 1 AND pinned_only IS NOT 'rate', parallelism, excluded.parallelism),
         rate = iif(pinned = 1 AND pinned_only IS NOT 'parallelism', rate, excluded.rate),
         period_ms = iif(pinned = 1 AND pinned_only IS NOT 'parallelism', period_ms, excluded.period_ms),
         updated_at = excluded.updated_at
       WHERE (pinned = 0 OR pinned_only IS NOT NULL) AND (excluded.parallelism IS NOT NULL OR excluded.rate IS NOT NULL)`,
    );
    const insertState = `INSERT INTO flow_control (tenant, key, parallelism, rate, period_ms, updated_at, paused, pinned, pinned_only)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, key) DO UPDATE SET updated_at = excluded.updated_at`;
    this.setPart = {
      paused: connection.prepare(`${insertState}, paused = excluded.paused`),
      limits: connection.prepare(
        `${insertState}, parallelism = excluded.parallelism, rate = excluded.rate, period_ms = excluded.period_ms,
         pinned = excluded.pinned, pinned_only = excluded.pinned_only`,
      ),
    };
    this.replaceWindow = connection.prepare(
      `INSERT INTO flow_control (tenant, key, updated_at, window_started_at, window_granted) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (tenant, key) DO UPDATE
         SET window_started_at = excluded.window_started_at, window_granted = excluded.window_granted`,
    );
  }

  apply(write: WriteOf<'flow-control'>): void {
    switch (write.kind) {
      case 'put-flow-control':
        this.put(write.instanceId, write.flowControl, write.at);
        break;
      case 'set-flow-control':
        this.set(write);
        break;
      case 'set-flow-window':
        this.setWindow(write.instanceId, write.key, write.window);
        break;
      default:
        write satisfies never;
    }
  }

  /** Registers the key. Replaces its limits, except pinned ones, if the write has any. */
  private put(instanceId: string, flowControl: FlowControl, at: number): void {
    const tenant = this.parts.tenants.findOrCreate(instanceId);
    const { key, parallelism, rate, periodMs } = flowControl;
    this.replaceLimits.run(tenant, key, parallelism ?? null, rate ?? null, periodMs ?? null, at);
  }

  private set({ instanceId, part, state, at }: SetWrite): void {
    const tenant = this.parts.tenants.findOrCreate(instanceId);
    const { key, parallelism, rate, periodMs, paused, parallelismPinned, ratePinned } = state;
    const flags = [paused ? 1 : 0, parallelismPinned || ratePinned ? 1 : 0] as const;
    this.setPart[part].run(tenant, key, parallelism, rate, periodMs, at, ...flags, onlyPinnedLimit(state));
  }

  /** Replaces the rate window. A new key is registered without limits, because the granted starts must not be lost. */
  private setWindow(instanceId: string, key: string, window: FlowControlState['window']): void {
    const tenant = this.parts.tenants.findOrCreate(instanceId);
    const startedAt = window?.startedAt ?? null;
    this.replaceWindow.run(tenant, key, startedAt ?? 0, startedAt, window?.granted ?? null);
  }
}
