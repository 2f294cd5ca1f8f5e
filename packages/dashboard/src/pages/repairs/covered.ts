/** What a repair covers: from the parameters of a URL, back into them, and in words. */
import type { RepairFilter } from '../../../../everstep/src/contract/repairs.js';
import { listOf, listWithWholeOf, timeOf } from '../../components/filters.js';
import { exactTime } from '../../components/formats.js';

type Parameters = Readonly<Record<string, string | undefined>>;
type CallbackState = NonNullable<RepairFilter['failureFunctionState']>[number];

const CALLBACK_STATES = [
  'CALLBACK_INPROGRESS',
  'CALLBACK_SUCCESS',
  'CALLBACK_FAIL',
  'CALLBACK_CANCELED',
] as const satisfies readonly CallbackState[];

/** A list that was written with `listText` because a value of it has a comma; null for any other text. */
function writtenList(text: string | undefined): string[] | null {
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

/** The filter of a plan. Parameters that it does not know, or that cannot be read, are not part of it. */
export function filterOf(parameters: Parameters): RepairFilter {
  const filter: RepairFilter = {};
  const list = (name: string, read = listOf): string[] | undefined => {
    const values = writtenList(parameters[name]) ?? read(parameters[name]);
    return values === undefined ? undefined : [...values];
  };
  const dlqIds = list('dlqId');
  if (dlqIds !== undefined) return { dlqIds };
  const [fingerprint, workflowUrl, label] = [list('fingerprint'), list('workflowUrl', listWithWholeOf), list('label')];
  const [callerIp, flowControlKey] = [list('callerIp'), list('flowControlKey', listWithWholeOf)];
  const [fromDate, toDate] = [timeOf(parameters.fromDate), timeOf(parameters.toDate)];
  const states = list('failureFunctionState')?.flatMap((asked) => CALLBACK_STATES.filter((state) => state === asked));
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

/** Parameters of a URL for the same choice again. */
export function parametersOf(filter: RepairFilter): Record<string, string> {
  const { dlqIds, workflowCreatedAt, ...rest } = filter;
  const made: Record<string, string> = dlqIds === undefined ? {} : { dlqId: dlqIds.join(',') };
  for (const [name, value] of Object.entries(rest)) made[name] = Array.isArray(value) ? listText(value) : String(value);
  return made;
}

export interface CoveredWords {
  readonly name: string;
  readonly values: readonly string[];
}

const NAMES = {
  workflowUrl: 'Workflow',
  label: 'Label',
  callerIp: 'Caller',
  flowControlKey: 'Flow control key',
  failureFunctionState: 'Failure callback',
  fingerprint: 'Group of errors',
} as const satisfies Partial<Record<keyof RepairFilter, string>>;

/** What is covered, line by line; empty when it is everything. Fingerprints are left to the caller, which knows their messages. */
export function coveredWords(filter: RepairFilter): readonly CoveredWords[] {
  const words: CoveredWords[] = [];
  const { dlqIds, workflowRunId, fromDate, toDate, workflowCreatedAt } = filter;
  if (dlqIds !== undefined)
    words.push({ name: dlqIds.length === 1 ? 'One dead letter' : `${dlqIds.length} dead letters`, values: dlqIds });
  for (const name of ['fingerprint', 'workflowUrl', 'label', 'callerIp', 'flowControlKey', 'failureFunctionState'] as const) {
    const values = filter[name];
    if (values !== undefined) words.push({ name: NAMES[name], values });
  }
  if (workflowRunId !== undefined) words.push({ name: 'Run id begins with', values: [workflowRunId] });
  if (fromDate !== undefined && fromDate > 0) words.push({ name: 'Failed since', values: [exactTime(fromDate, 'local')] });
  if (toDate !== undefined) words.push({ name: 'Failed until', values: [exactTime(toDate, 'local')] });
  if (workflowCreatedAt !== undefined) words.push({ name: 'Run created at', values: [exactTime(workflowCreatedAt, 'local')] });
  return words;
}
