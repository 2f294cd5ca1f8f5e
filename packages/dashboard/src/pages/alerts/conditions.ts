/** The kinds of alert rules: their texts, and the fields of their conditions. */
import type { AlertRuleEntry } from '../../../../everstep/src/contract/alerts/alerts.js';

export type Condition = AlertRuleEntry['condition'];
export type Kind = Condition['kind'];
type FieldName = Exclude<keyof Condition, 'kind'>;

export interface ConditionField {
  readonly name: FieldName;
  readonly label: string;
  readonly hint?: string;
  /** Type of the value. `minutes` are shown in minutes and sent in milliseconds. */
  readonly type: 'text' | 'minutes' | 'number';
  /** Unit shown after a number in the list of rules. */
  readonly unit?: string;
  /** Initial value in a new rule. */
  readonly initial: string;
}

const MINUTE_MS = 60_000;
const WORKFLOW: ConditionField = {
  name: 'workflowUrl',
  label: 'Workflow URL (optional)',
  hint: 'Leave empty to match every workflow.',
  type: 'text',
  initial: '',
};

export const KINDS: Readonly<Record<Kind, { readonly text: string; readonly fields: readonly ConditionField[] }>> = {
  'run-failed': {
    text: 'A run failed',
    fields: [
      WORKFLOW,
      { name: 'label', label: 'Label (optional)', type: 'text', initial: '' },
      {
        name: 'endAfterMs',
        label: 'Minutes without failures until the alert ends',
        type: 'minutes',
        unit: 'min without failures ends the alert',
        initial: '15',
      },
    ],
  },
  'error-group': { text: 'An error is new or regressed', fields: [WORKFLOW] },
  'failure-rate': {
    text: 'The failure rate is high',
    fields: [
      WORKFLOW,
      { name: 'percent', label: 'Failed runs (%)', type: 'number', unit: '% failed', initial: '10' },
      { name: 'windowMs', label: 'Window (minutes, at most 60)', type: 'minutes', unit: 'min window', initial: '5' },
      { name: 'minRuns', label: 'Minimum number of runs in the window', type: 'number', unit: 'runs or more', initial: '10' },
    ],
  },
  'pending-age': {
    text: 'A delivery has waited too long',
    fields: [
      { name: 'flowControlKey', label: 'Flow control key', hint: 'Enter either a key or a queue.', type: 'text', initial: '' },
      { name: 'queue', label: 'Queue', type: 'text', initial: '' },
      { name: 'maxAgeMs', label: 'Max age (minutes)', type: 'minutes', initial: '15' },
    ],
  },
  'schedule-missed': {
    text: 'A schedule is late',
    fields: [{ name: 'forMs', label: 'Late by (minutes)', type: 'minutes', initial: '5' }],
  },
  'run-age': {
    text: 'A run has been active for too long',
    fields: [
      WORKFLOW,
      { name: 'label', label: 'Label (optional)', type: 'text', initial: '' },
      { name: 'maxAgeMs', label: 'Max age (minutes)', type: 'minutes', initial: '60' },
    ],
  },
  'no-worker': {
    text: 'No worker is connected',
    fields: [
      { name: 'workflowUrl', label: 'Worker URL', hint: 'For example, worker://shop/order.', type: 'text', initial: '' },
      { name: 'forMs', label: 'Without a worker for (minutes)', type: 'minutes', initial: '5' },
    ],
  },
  budget: {
    text: 'A share of the budget is spent',
    fields: [{ name: 'percent', label: 'Share of the budget (%)', type: 'number', unit: '% spent', initial: '80' }],
  },
  'store-trouble': { text: 'The store rejected writes', fields: [] },
};

export const isKind = (text: string): text is Kind => text in KINDS;

/** Returns the values of the fields as texts, for a form. */
export function textsOf(condition: Condition): Readonly<Record<string, string>> {
  return Object.fromEntries(
    KINDS[condition.kind].fields.map(({ name, type }) => {
      const value = condition[name];
      return [name, value === undefined ? '' : type === 'minutes' ? String(Number(value) / MINUTE_MS) : String(value)];
    }),
  );
}

/** Returns the condition of a form. Empty fields are omitted. */
export function conditionOf(kind: Kind, texts: Readonly<Record<string, string>>): Condition {
  const fields: (readonly [FieldName, string | number])[] = [];
  for (const { name, type, initial } of KINDS[kind].fields) {
    const text = (texts[name] ?? initial).trim();
    if (text === '') continue;
    if (type === 'text') fields.push([name, text]);
    else fields.push([name, type === 'minutes' ? Math.round(Number(text) * MINUTE_MS) : Number(text)]);
  }
  return { kind, ...Object.fromEntries(fields) };
}

/** Returns a short description of the condition and the quiet hours of a rule. */
export function ruleText({ condition, quietHours }: Pick<AlertRuleEntry, 'condition' | 'quietHours'>): string {
  const texts = textsOf(condition);
  const parts = KINDS[condition.kind].fields.flatMap(({ name, type, unit = type === 'minutes' ? 'min' : '' }) => {
    const text = texts[name] ?? '';
    return text === '' ? [] : [unit.startsWith('%') ? `${text}${unit}` : `${text} ${unit}`.trimEnd()];
  });
  const quiet = quietHours ? [`quiet from ${quietHours.from} to ${quietHours.to} ${quietHours.timeZone}`] : [];
  return [...parts, ...quiet].join(', ');
}
