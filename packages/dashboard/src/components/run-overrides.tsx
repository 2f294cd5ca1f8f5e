/** What new runs are to have otherwise than the failed ones that they are made of. Empty fields leave everything as it was. */
import { useId } from 'react';

export interface OverrideTexts {
  readonly retries: string;
  readonly retryDelay: string;
  readonly labels: string;
  readonly flowControlKey: string;
  readonly parallelism: string;
  readonly rate: string;
  readonly periodSeconds: string;
}
export const NO_OVERRIDES: OverrideTexts = {
  retries: '',
  retryDelay: '',
  labels: '',
  flowControlKey: '',
  parallelism: '',
  rate: '',
  periodSeconds: '',
};

/** As a bulk operation takes them in its body; undefined where nothing is set. */
export interface RunOverrides {
  retries?: number;
  retryDelay?: string;
  labels?: string[];
  flowControl?: { key?: string; parallelism?: number; rate?: number; periodMs?: number };
}

export function overridesIn(texts: OverrideTexts): RunOverrides | undefined {
  const made: RunOverrides = {};
  if (texts.retries !== '') made.retries = Number(texts.retries);
  if (texts.retryDelay.trim() !== '') made.retryDelay = texts.retryDelay.trim();
  const labels = labelsIn(texts.labels);
  if (labels.length > 0) made.labels = labels;
  const flow: NonNullable<RunOverrides['flowControl']> = {};
  if (texts.flowControlKey.trim() !== '') flow.key = texts.flowControlKey.trim();
  if (texts.parallelism !== '') flow.parallelism = Number(texts.parallelism);
  if (texts.rate !== '') flow.rate = Number(texts.rate);
  if (texts.rate !== '' && texts.periodSeconds !== '') flow.periodMs = Number(texts.periodSeconds) * 1000;
  if (Object.keys(flow).length > 0) made.flowControl = flow;
  return Object.keys(made).length === 0 ? undefined : made;
}

/** As an operation on one entry takes them: in headers. */
export function overrideHeaders(overrides: RunOverrides | undefined): Record<string, string> {
  if (overrides === undefined) return {};
  const { retries, retryDelay, labels, flowControl } = overrides;
  const limits = [
    ...(flowControl?.parallelism === undefined ? [] : [`parallelism=${flowControl.parallelism}`]),
    ...(flowControl?.rate === undefined ? [] : [`rate=${flowControl.rate}`]),
    ...(flowControl?.periodMs === undefined ? [] : [`period=${flowControl.periodMs / 1000}s`]),
  ];
  const given: [string, string | undefined][] = [
    ['svc-retries', retries === undefined ? undefined : String(retries)],
    ['svc-retry-delay', retryDelay],
    ['svc-label', labels?.join(',')],
    ['svc-flow-control-key', flowControl?.key],
    ['svc-flow-control-value', limits.length === 0 ? undefined : limits.join(', ')],
  ];
  return Object.fromEntries(given.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

const labelsIn = (text: string): string[] =>
  text
    .split(',')
    .map((label) => label.trim())
    .filter((label) => label !== '');

interface FieldWords {
  readonly label: string;
  readonly hint: string;
  readonly number?: { readonly min: number; readonly max?: number };
}
const FIELDS: Readonly<Record<keyof OverrideTexts, FieldWords>> = {
  retries: { label: 'Retries', hint: 'Of each step; 0 tries once.', number: { min: 0, max: 100 } },
  retryDelay: { label: 'Delay before a retry', hint: 'In ms, with “retried” for how often: 1000 * (1 + retried)' },
  labels: { label: 'Labels', hint: 'In place of those that it had, commas between.' },
  flowControlKey: { label: 'Flow control key', hint: 'Empty: its own.' },
  parallelism: { label: 'At the same time', hint: 'Runs of the key with a request under way.', number: { min: 1 } },
  rate: { label: 'Starts in a period', hint: 'Of the key.', number: { min: 1 } },
  periodSeconds: { label: 'Period, seconds', hint: 'Of the rate; 1 when empty.', number: { min: 1 } },
};
const ORDER = [
  'retries',
  'retryDelay',
  'labels',
  'flowControlKey',
  'parallelism',
  'rate',
  'periodSeconds',
] as const satisfies readonly (keyof OverrideTexts)[];

export interface OverrideFieldsProps {
  readonly texts: OverrideTexts;
  readonly onChange: (texts: OverrideTexts) => void;
}

export function OverrideFields({ texts, onChange }: OverrideFieldsProps) {
  const id = useId();
  return (
    <details className="overrides">
      <summary>Change settings of the new runs</summary>
      <div className="overrides-fields">
        {ORDER.map((name) => {
          const { label, hint, number } = FIELDS[name];
          return (
            <div key={name} className="field">
              <label className="field-label" htmlFor={`${id}-${name}`}>
                {label}
              </label>
              <input
                id={`${id}-${name}`}
                className="input"
                {...(number === undefined ? {} : { type: 'number', inputMode: 'numeric' as const, step: 1, ...number })}
                autoComplete="off"
                aria-describedby={`${id}-${name}-hint`}
                value={texts[name]}
                onChange={(event) => onChange({ ...texts, [name]: event.target.value })}
              />
              <span id={`${id}-${name}-hint`} className="field-hint">
                {hint}
              </span>
            </div>
          );
        })}
      </div>
    </details>
  );
}
