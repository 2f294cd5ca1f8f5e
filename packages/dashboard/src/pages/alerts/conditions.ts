/** The kinds of alert rules: their texts, and the fields of their conditions. */
import type { AlertRuleEntry } from '../../../../everstep/src/contract/alerts/alerts.js';

export type Condition = AlertRuleEntry['condition'];
export type Kind = Condition['kind'];
type FieldName = Exclude<keyof Condition, 'kind'>;

export interface ConditionField {
  readonly name: FieldName;
  readonly label: string;
  readonly hint?: string;
  /** `minutes`: shown in minutes and sent in milliseconds. */
  readonly type: 'text' | 'minutes';
  /** Value of a new rule. */
  readonly initial: string;
}

const MINUTE_MS = 60_000;
const WORKFLOW: ConditionField = {
  name: 'workflowUrl',
  label: 'Workflow URL (optional)',
  hint: 'Empty: every workflow.',
  type: 'text',
  initial: '',
};

export const KINDS: Readonly<Record<Kind, { readonly text: string; readonly fields: readonly ConditionField[] }>> = {
  'run-failed': {
    text: 'A run failed',
    fields: [
      WORKFLOW,
      { name: 'label', label: 'Label (optional)', type: 'text', initial: '' },
      { name: 'endAfterMs', label: 'Ends after minutes without a failure', type: 'minutes', initial: '15' },
    ],
  },
  'error-group': { text: 'New or regressed error', fields: [WORKFLOW] },
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
  const fields = KINDS[kind].fields.flatMap(({ name, type, initial }) => {
    const text = (texts[name] ?? initial).trim();
    if (text === '') return [];
    return [[name, type === 'minutes' ? Math.round(Number(text) * MINUTE_MS) : text] as const];
  });
  return { kind, ...Object.fromEntries(fields) };
}

/** Describes a condition in a few words. */
export function conditionText(condition: Condition): string {
  const texts = textsOf(condition);
  const parts = KINDS[condition.kind].fields.flatMap(({ name, type }) => {
    const text = texts[name] ?? '';
    return text === '' ? [] : [type === 'minutes' ? `${text} min` : text];
  });
  return parts.join(', ');
}
