/** Converts the filter of a repair from and to URL parameters, and describes it. */
import type { RepairFilter } from '../../../../everstep/src/contract/repairs.js';
import { listOf, listWithWholeOf, timeOf } from '../../components/tables/filters.js';
import { exactTime } from '../../components/times/formats.js';

type Parameters = Readonly<Record<string, string | undefined>>;
type CallbackState = NonNullable<RepairFilter['failureFunctionState']>[number];

const CALLBACK_STATES = [
  'CALLBACK_INPROGRESS',
  'CALLBACK_SUCCESS',
  'CALLBACK_FAIL',
  'CALLBACK_CANCELED',
] as const satisfies readonly CallbackState[];

/** Parses a list that `listText` wrote as JSON because a value contains a comma. Returns null for any other text. */
function parseJsonList(text: string | undefined): string[] | null {
  if (!text?.startsWith('["')) return null;
  try {
    const values: unknown = JSON.parse(text);
    return Array.isArray(values) ? values.map(String) : null;
  } catch {
    return null;
  }
}

const listText = (values: readonly string[]): string =>
  values.some((value) => value.includes(',')) ? JSON.stringify(values) : values.join(',');

/** Returns the filter for URL parameters. Unknown and invalid parameters are ignored. */
export function filterOf(parameters: Parameters): RepairFilter {
  const filter: RepairFilter = {};
  const list = (name: string, read = listOf): string[] | undefined => {
    const values = parseJsonList(parameters[name]) ?? read(parameters[name]);
    return values === undefined ? undefined : [...values];
  };
  const dlqIds = list('dlqId');
  if (dlqIds !== undefined) return { dlqIds };
  const [fingerprint, workflowUrl, label] = [list('fingerprint'), list('workflowUrl', listWithWholeOf), list('label')];
  const [callerIp, flowControlKey] = [list('callerIp'), list('flowControlKey', listWithWholeOf)];
  const [fromDate, toDate] = [timeOf(parameters.fromDate), timeOf(parameters.toDate)];
  const states = list('failureFunctionState')?.flatMap((text) => CALLBACK_STATES.filter((state) => state === text));
  if (fingerprint !== undefined) filter.fingerprint = fingerprint;
  if (workflowUrl !== undefined) filter.workflowUrl = workflowUrl;
  if (label !== undefined) filter.label = label;
  if (callerIp !== undefined) filter.callerIp = callerIp;
  if (flowControlKey !== undefined) filter.flowControlKey = flowControlKey;
  if (states !== undefined && states.length > 0) filter.failureFunctionState = states;
  if (parameters.workflowRunId !== undefined && parameters.workflowRunId !== '') filter.workflowRunId = parameters.workflowRunId;
  if (fromDate !== undefined) filter.fromDate = fromDate;
  if (toDate !== undefined) filter.toDate = toDate;
  return filter;
}

/** Returns the URL parameters for a filter. */
export function parametersOf(filter: RepairFilter): Record<string, string> {
  const { dlqIds, workflowCreatedAt, ...rest } = filter;
  const parameters: Record<string, string> = dlqIds === undefined ? {} : { dlqId: dlqIds.join(',') };
  for (const [name, value] of Object.entries(rest)) parameters[name] = Array.isArray(value) ? listText(value) : String(value);
  return parameters;
}

export interface FilterPart {
  readonly name: string;
  readonly values: readonly string[];
}

const NAMES = {
  workflowUrl: 'Workflow',
  label: 'Label',
  callerIp: 'Caller',
  flowControlKey: 'Flow control key',
  failureFunctionState: 'Failure callback',
  fingerprint: 'Error group',
} as const satisfies Partial<Record<keyof RepairFilter, string>>;

/** Describes a filter, one part per condition; empty if it covers everything. The caller replaces fingerprints by messages. */
export function describeFilter(filter: RepairFilter): readonly FilterPart[] {
  const parts: FilterPart[] = [];
  const { dlqIds, workflowRunId, fromDate, toDate, workflowCreatedAt } = filter;
  if (dlqIds !== undefined)
    parts.push({ name: dlqIds.length === 1 ? '1 dead letter' : `${dlqIds.length} dead letters`, values: dlqIds });
  for (const name of ['fingerprint', 'workflowUrl', 'label', 'callerIp', 'flowControlKey', 'failureFunctionState'] as const) {
    const values = filter[name];
    if (values !== undefined) parts.push({ name: NAMES[name], values });
  }
  if (workflowRunId !== undefined) parts.push({ name: 'Run id starts with', values: [workflowRunId] });
  if (fromDate !== undefined && fromDate > 0) parts.push({ name: 'Failed since', values: [exactTime(fromDate, 'local')] });
  if (toDate !== undefined) parts.push({ name: 'Failed until', values: [exactTime(toDate, 'local')] });
  if (workflowCreatedAt !== undefined) parts.push({ name: 'Run created at', values: [exactTime(workflowCreatedAt, 'local')] });
  return parts;
}
