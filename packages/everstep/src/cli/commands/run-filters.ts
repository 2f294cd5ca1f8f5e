/** Options that choose among runs, and among the dead letters of runs, alike. */
import type { Command } from 'commander';
import { collected, moment } from '../arguments.js';

export interface RunFilterOptions {
  readonly runId?: string;
  readonly createdAt?: number;
  readonly from?: number;
  readonly to?: number;
  readonly label?: readonly string[];
  readonly flowControlKey?: readonly string[];
  readonly callerIp?: readonly string[];
}

/** `what` are the things chosen: "runs", "entries". */
export function withRunFilters(command: Command, what: string): Command {
  return command
    .option('--run-id <id>', `${what} of this run`)
    .option('--created-at <instant>', `${what} of the run created at this time`, moment('--created-at'))
    .option('--from <instant>', `${what} from this time on: Unix ms or a date`, moment('--from'))
    .option('--to <instant>', `${what} up to this time`, moment('--to'))
    .option('--label <label>', `${what} with this label; may be repeated`, collected)
    .option('--flow-control-key <key>', `${what} with this key; may be repeated`, collected)
    .option('--caller-ip <address>', `${what} triggered from this address; may be repeated`, collected);
}

/** The filters as the client takes them; what was not given is not there. */
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
