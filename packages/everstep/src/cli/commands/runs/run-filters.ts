/** Options that filter runs and dead letters. */
import type { Command } from 'commander';
import { collected, moment } from '../../arguments.js';

export interface RunFilterOptions {
  readonly runId?: string;
  readonly createdAt?: number;
  readonly from?: number;
  readonly to?: number;
  readonly label?: readonly string[];
  readonly flowControlKey?: readonly string[];
  readonly callerIp?: readonly string[];
}

/** `what` names the filtered things: "runs" or "dead letters". */
export function withRunFilters(command: Command, what: string): Command {
  return command
    .option('--run-id <id>', `${what} of this run`)
    .option('--created-at <instant>', `${what} of the run created at this time`, moment('--created-at'))
    .option('--from <instant>', `${what} at or after this time: Unix ms or a date`, moment('--from'))
    .option('--to <instant>', `${what} at or before this time`, moment('--to'))
    .option('--label <label>', `${what} with this label; may be repeated`, collected)
    .option('--flow-control-key <key>', `${what} with this flow control key; may be repeated`, collected)
    .option('--caller-ip <address>', `${what} triggered from this address; may be repeated`, collected);
}

/** Returns the filters as the client takes them, without those that were not given. */
export function runFilter(options: RunFilterOptions) {
  const filter = {
    workflowRunId: options.runId,
    workflowCreatedAt: options.createdAt,
    fromDate: options.from,
    toDate: options.to,
    label: options.label,
    flowControlKey: options.flowControlKey,
    callerIp: options.callerIp,
  };
  return filter;
}

export const hasFilter = (filter: object): boolean => Object.values(filter).some((value) => value !== undefined);
